// Coroutines whose io_context is destroyed while they are suspended. Each scenario is run for
// 0, 1, 2, … handlers and then abandoned, until it has run to its end once: wherever it stood,
// every message and every local variable must be destroyed exactly once. Sanitizer builds see
// leaks and uses after the end.
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>

#include <stoker/runtime/channel.hpp>
#include <stoker/runtime/scope.hpp>
#include <stoker/runtime/supervise.hpp>

#include "runtime/running.hpp"
#include "support/catch.hpp"

namespace asio = boost::asio;
using namespace asio::experimental::awaitable_operators;
using stoker::test_support::give_way;
using stoker::test_support::living;

namespace {

/// Abandons the coroutine after every number of handlers. The steps that it took to its end.
template <typename Coroutine>
int abandon_at_each_step(const Coroutine& coroutine) {
    for (int steps = 0;; ++steps) {
        bool ended = false;
        {
            asio::io_context io;
            asio::co_spawn(io, coroutine, [&ended](std::exception_ptr) { ended = true; });
            for (int step = 0; step < steps && !ended; ++step) {
                io.run_one_for(std::chrono::seconds(10));
            }
        }
        if (living::count != 0) {
            FAIL("after " << steps << " steps " << living::count << " objects are left");
        }
        if (ended)
            return steps;
        REQUIRE(steps < 10'000);
    }
}

asio::awaitable<void> produce(stoker::sender<living> tx, int count) {
    const living local;
    for (int number = 0; number < count; ++number) {
        auto permit = co_await tx.reserve();
        const living beside_a_permit;
        co_await give_way();
        permit.send(living(number));
    }
}

asio::awaitable<void> consume(stoker::receiver<living> rx) {
    const living local;
    while (auto message = co_await rx.receive()) {
        const living beside_a_message;
        co_await give_way();
    }
}

}  // namespace

TEST_CASE("actors may be abandoned at any step of sending and receiving", "[runtime]") {
    const auto scenario = []() -> asio::awaitable<void> {
        auto [tx, rx] = stoker::channel<living>(co_await asio::this_coro::executor, 2);
        const auto body = [&](stoker::scope& children) -> asio::awaitable<void> {
            children.spawn(produce(tx, 3));
            children.spawn(produce(std::move(tx), 2));
            children.spawn(consume(std::move(rx)));
            co_await give_way();
        };
        co_await stoker::scoped(body);
    };
    CHECK(abandon_at_each_step(scenario) > 30);
}

TEST_CASE("a scope that fails or is cancelled may be abandoned at any step", "[runtime]") {
    const auto scenario = []() -> asio::awaitable<void> {
        const living local;
        const auto executor = co_await asio::this_coro::executor;
        auto [tx, rx] = stoker::channel<living>(executor, 1);
        asio::steady_timer deadline(executor);
        const auto waits = [&rx]() -> asio::awaitable<void> {
            const living inner;
            auto message = co_await rx.receive();
        };
        const auto fails = []() -> asio::awaitable<void> {
            const living inner;
            co_await give_way();
            throw std::runtime_error("on purpose");
        };
        const auto body = [&](stoker::scope& children) -> asio::awaitable<void> {
            children.spawn(waits());
            children.spawn(fails());
            co_return;
        };
        try {
            co_await stoker::scoped(body);
        } catch (const std::runtime_error&) {
        }
        const auto idle = [&](stoker::scope& children) -> asio::awaitable<void> {
            children.spawn(waits());
            co_return;
        };
        deadline.expires_after(std::chrono::milliseconds(0));
        co_await (stoker::scoped(idle) || deadline.async_wait(asio::use_awaitable));
    };
    CHECK(abandon_at_each_step(scenario) > 10);
}

TEST_CASE("a supervisor may be abandoned in its child and in its pauses", "[runtime]") {
    const auto scenario = []() -> asio::awaitable<void> {
        int started = 0;
        const auto factory = [&started,
                              owned = std::make_shared<living>()]() -> asio::awaitable<void> {
            const living local;
            co_await give_way();
            if (++started < 3)
                throw std::runtime_error("again");
        };
        stoker::restart_policy policy;
        policy.back_off = {};
        co_await stoker::supervise(policy, factory);
    };
    CHECK(abandon_at_each_step(scenario) > 15);
}

TEST_CASE("senders that wait for a place are given up with their context", "[runtime]") {
    asio::io_context other;
    auto [tx, rx] = stoker::channel<living>(other, 1);
    REQUIRE_FALSE(tx.try_send(living(1)));
    {
        asio::io_context io;
        for (int count = 0; count < 3; ++count) {
            asio::co_spawn(io, produce(tx, 1), stoker::rethrow);
        }
        io.poll();
        CHECK(living::count == 4);
    }
    CHECK(living::count == 1);
    CHECK(rx.try_receive());  // frees a place that nobody waits for any more
    CHECK(tx.try_reserve());
}

TEST_CASE("the ends of a channel may die with different contexts in any order", "[runtime]") {
    const bool receiver_first = GENERATE(false, true);
    auto left = std::make_unique<asio::io_context>();
    auto right = std::make_unique<asio::io_context>();
    {
        auto [tx, rx] = stoker::channel<living>(*left, 1);
        asio::co_spawn(*left, produce(std::move(tx), 10), stoker::rethrow);
        asio::co_spawn(*right, consume(std::move(rx)), stoker::rethrow);
    }
    for (int round = 0; round < 4; ++round) {
        left->poll();
        right->poll();
    }
    (receiver_first ? right : left).reset();
    auto& rest = receiver_first ? left : right;
    // Without a receiver, the producer's next reserve fails and leaves run(); without a sender, the
    // consumer sees the end.
    if (receiver_first) {
        CHECK_THROWS_WITH(rest->run(), Catch::Matchers::ContainsSubstring("closed"));
    } else {
        rest->run();
    }
    rest.reset();
    CHECK(living::count == 0);
}

TEST_CASE("a pool of threads may be stopped and destroyed in the midst of it all", "[runtime]") {
    for (int round = 0; round < 50; ++round) {
        {
            asio::thread_pool pool(3);
            auto [tx, rx] = stoker::channel<living>(pool, 2);
            const auto idle = []() -> asio::awaitable<void> {
                auto [idle_tx, idle_rx] =
                    stoker::channel<living>(co_await asio::this_coro::executor, 1);
                const auto body = [&](stoker::scope&) -> asio::awaitable<void> {
                    auto message = co_await idle_rx.receive();
                };
                co_await stoker::scoped(body);
            };
            for (int count = 0; count < 3; ++count) {
                asio::co_spawn(asio::make_strand(pool), produce(tx, 1'000'000), stoker::rethrow);
            }
            asio::co_spawn(asio::make_strand(pool), consume(std::move(rx)), stoker::rethrow);
            asio::co_spawn(asio::make_strand(pool), idle, stoker::rethrow);
            { const auto gone = std::move(tx); }
            for (int wait = 0; wait < round; ++wait)
                std::this_thread::yield();
        }
        if (living::count != 0)
            FAIL("in round " << round);
    }
}

TEST_CASE("a sender that gives up waiting leaves the place to the next one", "[runtime][B157]") {
    asio::io_context io;
    auto [tx, rx] = stoker::channel<int>(io, 1);
    REQUIRE_FALSE(tx.try_send(0));
    const auto run_what_is_ready = [&io] {
        io.restart();
        io.poll();
    };
    asio::cancellation_signal signal;
    std::vector<int> given_up;
    std::vector<int> placed;
    const auto note = [&](int who) {
        return [&, who](boost::system::error_code error, stoker::permit<int> permit) {
            (error ? given_up : placed).push_back(who);
            if (!error)
                permit.send(int(who));
        };
    };
    tx.reserve(asio::bind_cancellation_slot(signal.slot(), note(1)));
    tx.reserve(note(2));
    run_what_is_ready();
    signal.emit(asio::cancellation_type::terminal);
    run_what_is_ready();
    CHECK(given_up == std::vector{1});
    CHECK(placed.empty());
    CHECK(rx.try_receive() == 0);
    run_what_is_ready();
    CHECK(placed == std::vector{2});
    CHECK(rx.try_receive() == 2);
}
