// Channels between threads. Numbers small enough for ThreadSanitizer, which must find nothing.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <thread>
#include <vector>

#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>

#include <stoker/runtime/channel.hpp>
#include <stoker/runtime/scope.hpp>

#include "runtime/running.hpp"
#include "support/catch.hpp"

namespace asio = boost::asio;
using namespace asio::experimental::awaitable_operators;
using stoker::test_support::living;

namespace {

constexpr int senders = 4;
constexpr int messages = 2000;

struct message {
    int sender;
    int number;
    living payload;
};

asio::awaitable<void> produce(stoker::sender<message> tx, int who) {
    for (int number = 0; number < messages; ++number) {
        auto permit = co_await tx.reserve();
        if (number % 5 == 0) {
            auto dropped = std::move(permit);
            permit = {};
            dropped = {};
            permit = co_await tx.reserve();
        }
        permit.send(message{who, number, living(number)});
    }
}

/// Counts, and checks that each sender's numbers come one by one.
asio::awaitable<int> consume(stoker::receiver<message> rx) {
    std::vector<int> next(senders, 0);
    int count = 0;
    while (auto received = co_await rx.receive()) {
        int& expected = next[static_cast<std::size_t>(received->sender)];
        if (received->number == expected && received->payload.value() == expected)
            ++count;
        ++expected;
    }
    co_return count;
}

template <typename Value>
bool ready(const std::future<Value>& future) {
    return future.wait_for(std::chrono::seconds(60)) == std::future_status::ready;
}

}  // namespace

TEST_CASE("several senders and a receiver run on the threads of a pool", "[runtime]") {
    asio::thread_pool pool(4);
    auto [tx, rx] = stoker::channel<message>(pool, 3);
    for (int who = 0; who < senders; ++who) {
        asio::co_spawn(pool, produce(tx, who), stoker::rethrow);
    }
    { const auto gone = std::move(tx); }
    auto result = asio::co_spawn(pool, consume(std::move(rx)), asio::use_future);
    REQUIRE(ready(result));
    CHECK(result.get() == senders * messages);
    pool.join();
    CHECK(living::count == 0);
}

TEST_CASE("plain threads may send to a coroutine", "[runtime]") {
    asio::thread_pool pool(1);
    auto [tx, rx] = stoker::channel<message>(pool, 3);
    auto result = asio::co_spawn(pool, consume(std::move(rx)), asio::use_future);
    std::vector<std::thread> threads;
    for (int who = 0; who < senders; ++who) {
        threads.emplace_back([tx, who] {
            for (int number = 0; number < messages; ++number) {
                auto unsent = tx.try_send(message{who, number, living(number)});
                while (unsent) {
                    std::this_thread::yield();
                    unsent = tx.try_send(std::move(*unsent));
                }
            }
        });
    }
    { const auto gone = std::move(tx); }
    for (auto& thread : threads)
        thread.join();
    REQUIRE(ready(result));
    CHECK(result.get() == senders * messages);
    pool.join();
    CHECK(living::count == 0);
}

TEST_CASE("receives that race with a timer on a strand lose no message", "[runtime]") {
    asio::thread_pool pool(3);
    auto [tx, rx] = stoker::channel<message>(pool, 3);
    for (int who = 0; who < senders; ++who) {
        asio::co_spawn(pool, produce(tx, who), stoker::rethrow);
    }
    { const auto gone = std::move(tx); }
    const auto consume_in_haste = [&rx]() -> asio::awaitable<int> {
        asio::steady_timer deadline(co_await asio::this_coro::executor);
        int count = 0;
        for (;;) {
            deadline.expires_at(std::chrono::steady_clock::now());
            auto first = co_await (rx.receive() || deadline.async_wait(asio::use_awaitable));
            if (first.index() == 1)
                continue;
            if (!std::get<0>(first))
                break;
            ++count;
        }
        co_return count;
    };
    auto result = asio::co_spawn(asio::make_strand(pool), consume_in_haste, asio::use_future);
    REQUIRE(ready(result));
    CHECK(result.get() == senders * messages);
    pool.join();
    CHECK(living::count == 0);
}

TEST_CASE("a scope on a strand cancels children that wait in channels", "[runtime]") {
    asio::thread_pool pool(4);
    const auto parent = [&pool]() -> asio::awaitable<int> {
        int failures = 0;
        for (int round = 0; round < 100; ++round) {
            auto [tx, rx] = stoker::channel<living>(pool, 1);
            const auto fill = [](stoker::sender<living> out) -> asio::awaitable<void> {
                for (int number = 0;; ++number) {
                    auto permit = co_await out.reserve();
                    permit.send(living(number));
                }
            };
            const auto drain = [&rx]() -> asio::awaitable<void> {
                for (int number = 0; number < 20; ++number) {
                    auto received = co_await rx.receive();
                }
                throw std::runtime_error("enough");
            };
            const auto body = [&](stoker::scope& children) -> asio::awaitable<void> {
                children.spawn(asio::make_strand(pool), fill(tx));
                children.spawn(asio::make_strand(pool), fill(tx));
                children.spawn(asio::make_strand(pool), drain());
                co_return;
            };
            try {
                co_await stoker::scoped(body);
            } catch (const std::runtime_error&) {
                ++failures;
            }
        }
        co_return failures;
    };
    auto result = asio::co_spawn(asio::make_strand(pool), parent, asio::use_future);
    REQUIRE(ready(result));
    CHECK(result.get() == 100);
    pool.join();
    CHECK(living::count == 0);
}

TEST_CASE("the receiver may die while senders on other threads wait and send", "[runtime]") {
    asio::thread_pool pool(4);
    for (int round = 0; round < 200; ++round) {
        auto [tx, rx] = stoker::channel<living>(pool, 1);
        const auto fill = [](stoker::sender<living> out) -> asio::awaitable<bool> {
            try {
                for (int number = 0;; ++number) {
                    auto permit = co_await out.reserve();
                    permit.send(living(number));
                }
            } catch (const boost::system::system_error& error) {
                co_return error.code() == stoker::channel_errc::closed;
            }
        };
        auto one = asio::co_spawn(pool, fill(tx), asio::use_future);
        auto two = asio::co_spawn(pool, fill(std::move(tx)), asio::use_future);
        for (int number = 0; number < round % 8; ++number)
            rx.receive(asio::use_future).get();
        { const auto gone = std::move(rx); }
        REQUIRE(ready(one));
        REQUIRE(ready(two));
        const bool told = one.get() && two.get();
        CHECK(told);
    }
    pool.join();
    CHECK(living::count == 0);
}
