// `on_bad::skip`: samples that fail, or that kill each worker that makes them, are left out of
// their batch, which keeps its place and its number in the order. The samples that stay keep their
// positions, so that their random numbers are what they would have been.

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include <stoker/core/error.hpp>
#include "loader/machine.hpp"

namespace stoker::detail {

namespace {

constexpr std::size_t most_listed = 1000;
/// After so many batches of nothing but bad samples an endless loader says so, or it would look for
/// a good one for ever.
constexpr std::uint64_t most_empty_in_a_row = 1000;

}  // namespace

void engine::machine::note_skipped(error_details failure) {
    if (skipped_.latest.size() == most_listed)
        skipped_.latest.erase(skipped_.latest.begin());
    skipped_.latest.push_back(std::move(failure));
}

/// What the worker has left out goes from main's own list of indices, too. False: it does not fit.
bool engine::machine::leave_out_skipped(std::uint32_t slot, const result_message& result) {
    loan& held = loans_[slot];
    std::vector<index>& indices = pool_->record(slot).indices;
    if (options_.on_bad != on_bad::skip)
        return false;
    if (held.numbers.empty()) {
        held.numbers.resize(indices.size());
        std::iota(held.numbers.begin(), held.numbers.end(), std::uint64_t{0});
    }
    if (!read_skips(pool_->slots(), result, held.numbers, skips_))
        return false;
    std::vector<index> kept;
    auto next = held.numbers.begin();
    for (const std::uint64_t number : skips_.numbers) {
        next = std::find(next, held.numbers.end(), number);
        kept.push_back(indices[static_cast<std::size_t>(next - held.numbers.begin())]);
    }
    std::copy(kept.begin(), kept.end(), indices.begin());
    indices.resize(kept.size());
    skipped_.count += result.skipped;
    for (error_details& each : skips_.errors)
        note_skipped(std::move(each));
    return true;
}

/// Nothing was left of the batch: the next one comes in its place.
void engine::machine::drop_empty(ledger_entry& entry, std::uint64_t sequence) {
    if (++empty_in_a_row_ >= most_empty_in_a_row) {
        empty_in_a_row_ = 0;
        error_details details{};
        if (!skipped_.latest.empty())
            details = skipped_.latest.back();
        details.code = errc::sample_failed;
        details.text =
            std::to_string(most_empty_in_a_row) +
            " batches in a row had nothing but bad samples, the last of them: " + details.text;
        entry.failure = std::make_exception_ptr(error(std::move(details)));
        entry.now = ledger_entry::state::failed;
        pool_->put_back(entry.slot);
        return;
    }
    pool_->put_back(entry.slot);
    ledger_->remove(sequence);
    --outstanding_;
}

/// A sample that kills its workers is left out of its batch, which is tried again without it. False
/// where that is not wanted.
bool engine::machine::skip_suspect(std::uint32_t slot, const error_details& accusation) {
    loan& held = loans_[slot];
    ledger_entry& entry = ledger_->at(held.sequence);
    std::vector<index>& indices = pool_->record(slot).indices;
    const auto place = std::find(indices.begin(), indices.end(), entry.suspect);
    if (options_.on_bad != on_bad::skip || place == indices.end())
        return false;
    const auto number = place - indices.begin();
    if (held.numbers.empty()) {
        held.numbers.resize(indices.size());
        std::iota(held.numbers.begin(), held.numbers.end(), std::uint64_t{0});
    }
    indices.erase(place);
    held.numbers.erase(held.numbers.begin() + number);
    ++skipped_.count;
    note_skipped(accusation);
    if (indices.empty()) {
        held.lent = false;
        drop_empty(entry, held.sequence);
        return true;
    }
    entry.deaths = 0;
    held.worker = entry.worker = -1;
    held.task.index_count = static_cast<std::uint32_t>(indices.size());
    held.task.gaps = 1;
    orphans_.push_back(slot);
    return true;
}

}  // namespace stoker::detail
