#pragma once
// A worker of a dataset with coroutines has several batches under way at once; this is where they
// are.

#include <list>
#include <memory>
#include <vector>

#include <boost/asio/any_io_executor.hpp>

#include <stoker/collate/fetcher.hpp>
#include "collate/fetch_limits.hpp"
#include "ipc/messages.hpp"
#include "ipc/slab.hpp"
#include "worker/batch_maker.hpp"

namespace stoker::detail {

/// Whom `batches_under_way` tells and asks.
class batch_watcher {
  public:
    virtual ~batch_watcher() = default;
    /// The epoch of the task was given up.
    virtual bool stale(const task_message& task) const noexcept = 0;
    /// What the oldest batch waits for: its sample that began first.
    virtual void show(const task_message& oldest, index sample) noexcept = 0;
    /// The samples of a batch become one; until the next `show` nothing else runs.
    virtual void show_collate(const task_message& task) noexcept = 0;
    /// A batch is done, whatever became of it. Possibly inside `begin`.
    virtual void finish(const result_message& result) = 0;
};

/// Thread safety: used from its executor's only thread.
class batches_under_way {
  public:
    /// References live as long as this.
    batches_under_way(boost::asio::any_io_executor executor, fetcher& source, const slab& slots,
                      const batch_maker_settings& settings, const fetch_limits& limits,
                      batch_watcher& watcher);
    batches_under_way(const batches_under_way&) = delete;
    batches_under_way& operator=(const batches_under_way&) = delete;
    ~batches_under_way();

    void begin(const task_message& task);
    /// Cancels those whose epoch was given up; their results, `dropped`, follow.
    void cancel_stale();
    bool empty() const { return all_.empty(); }

  private:
    class batch;

    boost::asio::awaitable<void> run(batch& one);
    void show_oldest() noexcept;

    boost::asio::any_io_executor executor_;
    fetcher& source_;
    const slab& slots_;
    const batch_maker_settings& settings_;
    const fetch_limits& limits_;
    batch_watcher& watcher_;
    std::list<std::unique_ptr<batch>> all_;      // oldest first
    std::vector<std::unique_ptr<batch>> ended_;  // a signal may still be on its way out of one
};

}  // namespace stoker::detail
