// Leases come back on any thread, the loader takes slots on its own: released slots go on a
// lock-free stack that the loader empties whole. Only "push" and "take all" exist, so the stack
// has no ABA problem, and a release never waits for the loader.

#include "loader/slot_pool.hpp"

#include <algorithm>
#include <utility>

namespace stoker::detail {

namespace {

/// A slot keeps the pages of batches up to this many times the usual one.
constexpr std::uint64_t outlier_factor = 4;
/// Less than this is not worth a system call.
constexpr std::uint64_t smallest_outlier_bytes = 1 << 20;

}  // namespace

slot_pool::slot_pool(slab slots, doorbell bell, int homes)
    : slots_(std::move(slots)), bell_(std::move(bell)) {
    const slot_geometry& geometry = slots_.geometry();
    const auto count = static_cast<std::uint32_t>(geometry.slot_count);
    free_.resize(homes > 0 ? static_cast<std::size_t>(homes) : 1);
    next_released_.resize(count, none);
    records_.resize(count);
    for (auto& list : free_)
        list.reserve(count);
    for (std::uint32_t slot = count; slot-- > 0;) {  // low numbers are taken first
        records_[slot].slot = slot;
        records_[slot].data = slots_.data(slot);
        records_[slot].records.resize(geometry.column_count);
        records_[slot].indices.reserve(geometry.index_capacity);
        put_back(slot);
    }
}

void slot_pool::note_batch(std::uint64_t data_bytes) {
    usual_bytes_ =
        usual_bytes_ == 0 ? data_bytes : usual_bytes_ - usual_bytes_ / 16 + data_bytes / 16;
}

void slot_pool::trim(std::uint32_t slot) {
    const std::uint64_t kept = std::max(usual_bytes_ * outlier_factor, smallest_outlier_bytes);
    if (records_[slot].bytes <= kept || records_[slot].bytes <= slots_.geometry().known_bytes)
        return;
    records_[slot].bytes = 0;
    slots_.release_beyond(slot,
                          std::max(slots_.known_prefix(), slots_.geometry().data_offset + kept));
}

void slot_pool::put_back(std::uint32_t slot) {
    trim(slot);
    free_[slot % free_.size()].push_back(slot);
}

void slot_pool::collect_released() {
    // Not relaxed: after `want_bell` this load must not be older than that store.
    if (released_.load(std::memory_order_seq_cst) == none)
        return;
    std::uint32_t slot = released_.exchange(none, std::memory_order_acquire);
    while (slot != none) {
        const std::uint32_t next = next_released_[slot];
        put_back(slot);
        slot = next;
    }
}

bool slot_pool::any_free() {
    collect_released();
    for (const auto& list : free_) {
        if (!list.empty())
            return true;
    }
    return false;
}

std::optional<std::uint32_t> slot_pool::acquire(int worker) {
    collect_released();
    auto* list = &free_[static_cast<std::size_t>(worker) % free_.size()];
    if (list->empty()) {  // borrow from the home that has most
        for (auto& other : free_) {
            if (other.size() > list->size())
                list = &other;
        }
    }
    if (list->empty())
        return std::nullopt;
    const std::uint32_t slot = list->back();
    list->pop_back();
    return slot;
}

lease slot_pool::hand_out(const std::shared_ptr<slot_pool>& self, std::uint32_t slot) {
    held_.fetch_add(1, std::memory_order_relaxed);
    return lease(self, records_[slot]);
}

void slot_pool::release(std::uint32_t slot) noexcept {
    held_.fetch_sub(1, std::memory_order_relaxed);
    std::uint32_t head = released_.load(std::memory_order_relaxed);
    do {
        next_released_[slot] = head;
    } while (!released_.compare_exchange_weak(head, slot, std::memory_order_seq_cst,
                                              std::memory_order_relaxed));
    if (wanted_.load(std::memory_order_seq_cst) &&
        wanted_.exchange(false, std::memory_order_seq_cst)) {
        bell_.ring();
    }
}

}  // namespace stoker::detail
