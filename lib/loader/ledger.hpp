#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <vector>

namespace stoker::detail {

/// One line of the ledger: a batch on its way, or the border between two epochs.
struct ledger_entry {
    enum class state {
        waiting,       ///< at a worker
        ready,         ///< in its slot
        failed,        ///< `failure` is to be thrown in its place
        end_of_epoch,  ///< the border
        lost,          ///< its worker died: never to come
        taken,         ///< delivered out of order; leaves when it gets to the front
    };
    state now = state::waiting;
    std::uint32_t slot = 0;
    int worker = -1;
    std::uint64_t epoch = 0;
    std::uint64_t number = 0;
    int deaths = 0;             ///< workers that died while they made it
    std::uint64_t suspect = 0;  ///< the sample that the last of them was on
    std::exception_ptr failure{};
};

/// What was issued and not delivered yet, in the order of delivery. Lives in main's memory.
/// Sequence numbers are never used twice, so a late result of an abandoned epoch can be told.
///
/// Thread safety: one thread at a time.
class ledger {
  public:
    explicit ledger(std::size_t capacity);

    bool empty() const { return head_ == tail_; }
    bool full() const { return tail_ - head_ == entries_.size(); }
    std::uint64_t head() const { return head_; }
    std::uint64_t tail() const { return tail_; }
    bool contains(std::uint64_t sequence) const { return sequence >= head_ && sequence < tail_; }
    ledger_entry& at(std::uint64_t sequence) { return entries_[sequence & mask_]; }

    /// A fresh entry with the next sequence number; not when full.
    ledger_entry& push();
    /// The sequence number of what may be delivered now: the front in order; out of order any of
    /// its epoch.
    std::optional<std::uint64_t> deliverable(bool in_order);
    /// The oldest entry that a worker still owes, within the front's epoch.
    std::optional<std::uint64_t> oldest_waiting();
    /// Removes one; out of order it may stand behind others.
    void remove(std::uint64_t sequence);
    /// Forgets all; sequence numbers go on.
    void clear();

  private:
    std::vector<ledger_entry> entries_;
    std::uint64_t mask_;
    std::uint64_t head_ = 1;
    std::uint64_t tail_ = 1;
};

}  // namespace stoker::detail
