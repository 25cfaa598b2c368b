#pragma once
// Makes one batch in a slot: the same function in a worker and, with num_workers = 0, in main, so
// that results and errors are the same. CONTRACT between lib/worker (owner) and lib/loader.

#include <cstdint>
#include <vector>

#include <stoker/collate/fetcher.hpp>
#include <stoker/core/error.hpp>
#include "ipc/messages.hpp"
#include "ipc/slab.hpp"

namespace stoker::detail {

/// How much of each slot this process has populated, so that a slot that is known to be warm costs
/// no system call. Never more than the known part of a slot: main gives the rest back at will.
class warm_slots {
  public:
    warm_slots() = default;
    explicit warm_slots(std::uint64_t slot_count) : bytes_(slot_count, 0) {}

    /// Populates the first `bytes` bytes of the slot's data unless they are known to be there.
    /// Throws what `slab::populate` throws.
    void require(const slab& slots, std::uint32_t slot, std::uint64_t bytes);
    /// Whether the known part of the slot is populated.
    bool warm(const slab& slots, std::uint32_t slot) const;

  private:
    std::vector<std::uint64_t> bytes_;
};

struct batch_maker_settings {
    std::uint64_t seed = 0;
    int worker = 0;       ///< as datasets see it
    int num_workers = 0;  ///< 0: the calling process; errors then carry no worker and pid
    /// Borrowed, one for a slab and process; null: the known part is populated for every batch.
    warm_slots* warm = nullptr;
};

/// Never throws: what the dataset throws becomes an error report in the slot (status failed), with
/// the sample that the fetcher had begun last. Populates the slot before it is written.
/// `task.index_count` indices lie in the slot. A batch whose epoch was given up is `dropped`.
result_message make_batch(fetcher& source, const slab& slots, const task_message& task,
                          const batch_maker_settings& settings, fetch_monitor& monitor) noexcept;
/// A report in the slot of `task` in place of a batch.
result_message fail_batch(const slab& slots, const task_message& task,
                          const error_details& details) noexcept;
/// The report that a failed result left in its slot (copied first, then checked; a damaged one
/// becomes errc::protocol).
error_details read_failure(const slab& slots, const result_message& result);

}  // namespace stoker::detail
