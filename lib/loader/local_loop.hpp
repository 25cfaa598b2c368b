#pragma once
// num_workers = 0 with a dataset of coroutines: its event loop in the calling process.

#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "collate/dropped.hpp"
#include "collate/fetch_limits.hpp"

namespace stoker::detail {

/// One loop for all loaders without workers of this process, apart from the host's, which may be
/// the one that waits for the batch, or be none at all. Shared, since loaders may share a dataset
/// (the parts of a random_split do), whose connections are bound to the loop on which it was
/// opened. It runs only inside `run`, and is never destroyed: what is bound to it may live longer
/// than any loader.
///
/// Thread safety: of distinct objects one runs at a time, others wait for it; one object from one
/// thread at a time. A dataset's coroutine may itself load from another loader.
class local_loop {
  public:
    /// `go_on`: behind samples that fail, see fetch_limits.
    local_loop(int in_flight, std::chrono::milliseconds sample_timeout, bool go_on = false);

    const fetch_limits& limits() const { return limits_; }

    /// Runs the loop until the coroutine has ended; its result, or what it throws. What else throws
    /// out of the loop, such as a handler of the dataset's own, cancels it, and comes out once it
    /// has ended: it refers to what the caller holds. Throws error{sample_failed} when it can never
    /// end, since what was to resume it is gone.
    template <class Result>
    Result run(boost::asio::awaitable<Result> work) {
        const std::lock_guard only_one(gate());
        const auto all = std::make_shared<ending<Result>>();
        const auto stop = std::make_shared<boost::asio::cancellation_signal>();
        boost::asio::co_spawn(
            loop(), std::move(work),
            boost::asio::bind_cancellation_slot(
                stop->slot(), [all](const std::exception_ptr& thrown, Result given) {
                    all->failure = thrown;
                    all->result = std::move(given);
                    all->ended = true;
                }));
        run_until_ended(all, stop);
        return std::move(all->result);
    }
    void run(boost::asio::awaitable<void> work) {
        const std::lock_guard only_one(gate());
        const auto all = std::make_shared<ending<int>>();
        const auto stop = std::make_shared<boost::asio::cancellation_signal>();
        boost::asio::co_spawn(loop(), std::move(work),
                              boost::asio::bind_cancellation_slot(
                                  stop->slot(), [all](const std::exception_ptr& thrown) {
                                      all->failure = thrown;
                                      all->ended = true;
                                  }));
        run_until_ended(all, stop);
    }

  private:
    /// Held by the coroutine's handler, too: by nobody else once the coroutine was dropped.
    template <class Result>
    struct ending {
        std::exception_ptr failure{};
        Result result{};
        bool ended = false;
    };

    template <class Result>
    static void run_until_ended(const std::shared_ptr<ending<Result>>& all,
                                const std::shared_ptr<boost::asio::cancellation_signal>& stop) {
        std::exception_ptr stray;
        while (!all->ended && all.use_count() > 1 && run_one(stray, stop)) {
        }
        if (stray)
            std::rethrow_exception(stray);
        if (!all->ended)
            throw_dropped();
        if (all->failure)
            std::rethrow_exception(all->failure);
    }

    static boost::asio::io_context& loop();
    static std::recursive_mutex& gate();
    /// False when there is nothing left that could run. The first thing thrown out of the loop is
    /// kept, and stops the coroutine.
    static bool run_one(std::exception_ptr& stray,
                        const std::shared_ptr<boost::asio::cancellation_signal>& stop);

    fetch_limits limits_;
};

}  // namespace stoker::detail
