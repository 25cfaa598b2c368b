#pragma once
// Makes one batch in a slot: the same function in a worker and, with num_workers = 0, in main, so
// that results and errors are the same. CONTRACT between lib/worker (owner) and lib/loader.

#include <cstdint>

#include <boost/asio/awaitable.hpp>

#include <stoker/collate/fetcher.hpp>
#include <stoker/core/error.hpp>
#include "ipc/messages.hpp"
#include "ipc/slab.hpp"

namespace stoker::detail {

struct batch_maker_settings {
    std::uint64_t seed = 0;
    int worker = 0;         ///< as datasets see it
    int num_workers = 0;    ///< 0: the calling process; errors then carry no worker and pid
    bool skip_bad = false;  ///< leave out samples that fail, and say which
};

/// Never throws: what the dataset throws becomes an error report in the slot (status failed), with
/// the sample that the fetcher had begun last. Populates the slot before it is written.
/// `task.index_count` indices lie in the slot. A batch whose epoch was given up is `dropped`. With
/// skip_bad a sample that fails is left out and the others are made again: bad samples are rare.
result_message make_batch(fetcher& source, const slab& slots, const task_message& task,
                          const batch_maker_settings& settings, fetch_monitor& monitor) noexcept;
/// The same for a fetcher that waits; where its limits say `go_on`, the others are made again once
/// for all samples that failed. All arguments live until it ends; cancelled, it ends with a
/// `dropped` result when the monitor says that the epoch was given up, else with a failed one.
boost::asio::awaitable<result_message> make_batch_waiting(fetcher& source, const slab& slots,
                                                          const task_message& task,
                                                          const batch_maker_settings& settings,
                                                          fetch_monitor& monitor,
                                                          const fetch_limits& limits);
/// Errors of the batch as a whole: the sample that happened to come last has no part in them.
bool concerns_batch(errc code);
/// A report in the slot of `task` in place of a batch.
result_message fail_batch(const slab& slots, const task_message& task,
                          const error_details& details) noexcept;
/// The report that a failed result left in its slot (copied first, then checked; a damaged one
/// becomes errc::protocol).
error_details read_failure(const slab& slots, const result_message& result);

}  // namespace stoker::detail
