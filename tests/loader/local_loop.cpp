#include "loader/local_loop.hpp"

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/async_result.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "support/catch.hpp"

using namespace stoker::detail;
namespace asio = boost::asio;

namespace {

asio::awaitable<std::string> text(std::chrono::milliseconds span) {
    asio::steady_timer timer(co_await asio::this_coro::executor, span);
    co_await timer.async_wait(asio::use_awaitable);
    co_return "made";
}

asio::awaitable<void> fails() {
    throw std::runtime_error("broken");
    co_return;
}

asio::awaitable<void> with_a_bad_neighbour() {
    asio::post(co_await asio::this_coro::executor, [] { throw std::logic_error("neighbour"); });
    (void)co_await text(std::chrono::milliseconds(1));
}

}  // namespace

TEST_CASE("a local loop runs a coroutine to its end, again and again", "[loader]") {
    local_loop loop(4, std::chrono::milliseconds(0));
    CHECK(loop.run(text(std::chrono::milliseconds(1))) == "made");
    CHECK_THROWS_WITH(loop.run(fails()), "broken");
    CHECK(loop.run(text(std::chrono::milliseconds(0))) == "made");
    CHECK(loop.limits().places.tx.capacity() == 4);
}

TEST_CASE("a local loop that a handler has thrown out of goes on", "[loader]") {
    local_loop loop(4, std::chrono::milliseconds(0));
    CHECK_THROWS_AS(loop.run(with_a_bad_neighbour()), std::logic_error);
    CHECK(loop.run(text(std::chrono::milliseconds(5))) == "made");
}

TEST_CASE("a coroutine has ended when something else was thrown out of its loop", "[loader]") {
    local_loop loop(4, std::chrono::milliseconds(0));
    bool ended = false;
    const auto body = [&ended]() -> asio::awaitable<void> {
        asio::post(co_await asio::this_coro::executor, [] { throw std::logic_error("neighbour"); });
        try {
            (void)co_await text(std::chrono::hours(1));
        } catch (...) {
            ended = true;
            throw;
        }
    };
    CHECK_THROWS_AS(loop.run(body()), std::logic_error);
    CHECK(ended);
}

TEST_CASE("a coroutine that can never go on is given up", "[loader]") {
    local_loop loop(4, std::chrono::milliseconds(0));
    const auto body = []() -> asio::awaitable<void> {
        co_await asio::async_initiate<const asio::use_awaitable_t<>, void()>(
            [](auto handler) { const auto dropped = std::move(handler); }, asio::use_awaitable);
    };
    CHECK_THROWS_WITH(loop.run(body()), Catch::Matchers::ContainsSubstring("dropped uncalled"));
    CHECK(loop.run(text(std::chrono::milliseconds(1))) == "made");
}

TEST_CASE("a coroutine may run another one to its end on the loop that runs it", "[loader]") {
    local_loop outer(4, std::chrono::milliseconds(0));
    local_loop inner(4, std::chrono::milliseconds(0));
    const auto body = [&inner]() -> asio::awaitable<std::string> {
        co_return inner.run(text(std::chrono::milliseconds(1))) + " inside";
    };
    CHECK(outer.run(body()) == "made inside");
}

TEST_CASE("loops of several threads run one at a time", "[loader]") {
    std::vector<std::thread> threads;
    std::atomic<int> made{0};
    int unguarded = 0;  // TSan looks at it
    for (int number = 0; number < 4; ++number) {
        threads.emplace_back([&] {
            local_loop loop(4, std::chrono::milliseconds(0));
            const auto body = [&]() -> asio::awaitable<void> {
                ++unguarded;
                (void)co_await text(std::chrono::milliseconds(1));
                ++made;
            };
            for (int round = 0; round < 50; ++round)
                loop.run(body());
        });
    }
    for (std::thread& each : threads)
        each.join();
    CHECK(made == 200);
    CHECK(unguarded == 200);
}
