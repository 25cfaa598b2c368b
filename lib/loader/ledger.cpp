#include "loader/ledger.hpp"

#include <bit>

namespace stoker::detail {

ledger::ledger(std::size_t capacity)
    : entries_(std::bit_ceil(capacity)), mask_(entries_.size() - 1) {}

ledger_entry& ledger::push() {
    ledger_entry& entry = at(tail_++);
    entry = ledger_entry{};
    return entry;
}

std::optional<std::uint64_t> ledger::deliverable(bool in_order) {
    using state = ledger_entry::state;
    for (std::uint64_t sequence = head_; sequence != tail_; ++sequence) {
        const state now = at(sequence).now;
        if (now == state::ready || now == state::failed)
            return sequence;
        if (now == state::end_of_epoch) {  // passed only when all before it is delivered
            if (sequence == head_)
                return sequence;
            return std::nullopt;
        }
        if (in_order)
            return std::nullopt;
    }
    return std::nullopt;
}

std::optional<std::uint64_t> ledger::oldest_waiting() {
    for (std::uint64_t sequence = head_; sequence != tail_; ++sequence) {
        if (at(sequence).now == ledger_entry::state::waiting)
            return sequence;
        if (at(sequence).now == ledger_entry::state::end_of_epoch)
            break;
    }
    return std::nullopt;
}

void ledger::remove(std::uint64_t sequence) {
    at(sequence).now = ledger_entry::state::taken;
    at(sequence).failure = nullptr;
    while (head_ != tail_ && at(head_).now == ledger_entry::state::taken)
        ++head_;
}

void ledger::clear() {
    for (std::uint64_t sequence = head_; sequence != tail_; ++sequence)
        at(sequence).failure = nullptr;
    head_ = tail_;
}

}  // namespace stoker::detail
