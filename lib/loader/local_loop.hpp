#pragma once
// num_workers = 0 with a dataset of coroutines: its event loop in the calling process.

#include <chrono>
#include <exception>
#include <memory>
#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "collate/fetch_limits.hpp"

namespace stoker::detail {

/// A loop of its own, since the host's may be the one that waits for the batch, or be none at all.
/// It lives as long as the dataset, whose connections are bound to it, and runs only inside `run`.
///
/// Thread safety: one thread at a time.
class local_loop {
  public:
    local_loop(int in_flight, std::chrono::milliseconds sample_timeout)
        : limits_(loop_.get_executor(), in_flight, sample_timeout) {}

    const fetch_limits& limits() const { return limits_; }

    /// Runs the loop until the coroutine ends; its result, or what it throws. What else throws out
    /// of the loop, such as a handler of the dataset's own, comes out as well.
    template <class Result>
    Result run(boost::asio::awaitable<Result> work) {
        // Shared, for a loop that was left by an exception may go on with this coroutine later.
        const auto all = std::make_shared<ending<Result>>();
        boost::asio::co_spawn(loop_, std::move(work),
                              [all](const std::exception_ptr& thrown, Result given) {
                                  all->failure = thrown;
                                  all->result = std::move(given);
                                  all->ended = true;
                              });
        run_until(*all);
        return std::move(all->result);
    }
    void run(boost::asio::awaitable<void> work) {
        const auto all = std::make_shared<ending<int>>();
        boost::asio::co_spawn(loop_, std::move(work), [all](const std::exception_ptr& thrown) {
            all->failure = thrown;
            all->ended = true;
        });
        run_until(*all);
    }

  private:
    template <class Result>
    struct ending {
        std::exception_ptr failure{};
        Result result{};
        bool ended = false;
    };

    template <class Result>
    void run_until(const ending<Result>& all) {
        loop_.restart();
        while (!all.ended)
            loop_.run_one();
        if (all.failure)
            std::rethrow_exception(all.failure);
    }

    boost::asio::io_context loop_{1};
    fetch_limits limits_;
};

}  // namespace stoker::detail
