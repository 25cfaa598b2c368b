#pragma once
// How tests of this room run coroutines: bounded in time, with failures that do not pass unseen.

#include <atomic>
#include <chrono>
#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <stoker/runtime/rethrow.hpp>

namespace stoker::test_support {

/// Runs the coroutine, and whatever else is on `io`, until nothing is left to do. False when that
/// took longer than ten seconds. Throws what the coroutine throws.
template <typename Coroutine>
bool finishes(boost::asio::io_context& io, Coroutine coroutine) {
    boost::asio::co_spawn(io, std::move(coroutine), stoker::rethrow);
    io.run_for(std::chrono::seconds(10));
    return io.stopped();
}

template <typename Coroutine>
bool finishes(Coroutine coroutine) {
    boost::asio::io_context io;
    return finishes(io, std::move(coroutine));
}

/// Lets everything else that is ready on this executor run first.
inline boost::asio::awaitable<void> give_way() {
    const auto executor = co_await boost::asio::this_coro::executor;
    for (int round = 0; round < 5; ++round) {
        co_await boost::asio::post(executor, boost::asio::use_awaitable);
    }
}

/// Something that is alive: a message, or the local variable of a coroutine. Move-only; counts.
class living {
  public:
    explicit living(int value = 0) : value_(value) { ++count; }
    living(living&& other) noexcept : value_(std::exchange(other.value_, -1)) { ++count; }
    living& operator=(living&& other) noexcept {
        value_ = std::exchange(other.value_, -1);
        return *this;
    }
    ~living() { --count; }
    int value() const { return value_; }

    static inline std::atomic<int> count = 0;

  private:
    int value_;
};

}  // namespace stoker::test_support
