// Channels on one thread: order, places, ends, refusals, tokens, cancellation.
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>

#include <stoker/core/error.hpp>
#include <stoker/runtime/channel.hpp>

#include "runtime/running.hpp"
#include "support/catch.hpp"

namespace asio = boost::asio;
using namespace asio::experimental::awaitable_operators;
using boost::system::error_code;
using stoker::test_support::finishes;
using stoker::test_support::living;

static_assert(std::is_copy_constructible_v<stoker::sender<int>>);
static_assert(std::is_nothrow_move_constructible_v<stoker::sender<int>>);
static_assert(!std::is_copy_constructible_v<stoker::receiver<int>>);
static_assert(std::is_nothrow_move_constructible_v<stoker::receiver<int>>);
static_assert(!std::is_copy_constructible_v<stoker::permit<int>>);
static_assert(std::is_nothrow_move_constructible_v<stoker::permit<int>>);
static_assert(std::is_nothrow_default_constructible_v<stoker::permit<int>>);

namespace {

/// Runs what is ready and what that makes ready.
void settle(asio::io_context& io) {
    io.restart();
    io.poll();
}

/// What a callback was told, if it was called.
template <typename Value>
struct answer {
    int calls = 0;
    error_code error{};
    Value value{};

    auto callback() {
        return [this](error_code code, Value result) {
            ++calls;
            error = code;
            value = std::move(result);
        };
    }
};

using received = answer<std::optional<int>>;
using reserved = answer<stoker::permit<int>>;

}  // namespace

TEST_CASE("messages arrive in the order in which each sender sent them", "[runtime]") {
    std::vector<std::vector<int>> seen(3);
    const auto produce = [](stoker::sender<std::pair<int, int>> tx,
                            int who) -> asio::awaitable<void> {
        for (int number = 0; number < 100; ++number) {
            auto permit = co_await tx.reserve();
            permit.send({who, number});
        }
    };
    const auto consume = [&]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        auto [tx, rx] = stoker::channel<std::pair<int, int>>(executor, 4);
        for (int who = 0; who < 3; ++who) {
            asio::co_spawn(executor, produce(tx, who), stoker::rethrow);
        }
        { const auto gone = std::move(tx); }
        while (auto message = co_await rx.receive()) {
            seen[static_cast<std::size_t>(message->first)].push_back(message->second);
        }
    };
    REQUIRE(finishes(consume));
    for (const auto& numbers : seen) {
        REQUIRE(numbers.size() == 100);
        CHECK(std::is_sorted(numbers.begin(), numbers.end()));
    }
}

TEST_CASE("a channel of no capacity is refused", "[runtime]") {
    asio::io_context io;
    try {
        stoker::channel<int>(io, 0);
        FAIL("not refused");
    } catch (const stoker::error& error) {
        CHECK(error.code() == stoker::errc::invalid_option);
        CHECK_THAT(error.what(), Catch::Matchers::ContainsSubstring("capacity"));
    }
}

TEST_CASE("messages need a move constructor and nothing else", "[runtime]") {
    asio::io_context io;
    auto [tx, rx] = stoker::channel<living>(io, 2);
    CHECK_FALSE(tx.try_send(living(7)));
    CHECK(living::count == 1);
    std::optional<living> message = rx.try_receive();
    REQUIRE(message);
    CHECK(message->value() == 7);
    message.reset();
    CHECK(living::count == 0);
}

TEST_CASE("try_send gives the message back when the channel is full or closed", "[runtime]") {
    asio::io_context io;
    auto [tx, rx] = stoker::channel<std::unique_ptr<int>>(io, 1);
    CHECK_FALSE(tx.try_send(std::make_unique<int>(1)));
    auto full = tx.try_send(std::make_unique<int>(2));
    REQUIRE(full);
    CHECK(**full == 2);
    CHECK(rx.try_receive());
    rx.close();
    CHECK(tx.closed());
    auto closed = tx.try_send(std::make_unique<int>(3));
    REQUIRE(closed);
    CHECK(**closed == 3);
}

TEST_CASE("a permit holds its place until it is used or dropped", "[runtime]") {
    asio::io_context io;
    auto [tx, rx] = stoker::channel<int>(io, 1);
    {
        auto permit = tx.try_reserve();
        CHECK(permit);
        CHECK_FALSE(tx.try_reserve());
        CHECK(rx.size() == 0);
        auto moved = std::move(permit);
        CHECK_FALSE(permit);
        CHECK(moved);
    }
    auto permit = tx.try_reserve();
    REQUIRE(permit);
    permit.send(5);
    CHECK_FALSE(permit);
    CHECK(rx.size() == 1);
    CHECK_FALSE(tx.try_reserve());
    CHECK(rx.try_receive() == 5);
    CHECK(tx.try_reserve());
}

TEST_CASE("places go to waiting senders in the order in which they came", "[runtime]") {
    asio::io_context io;
    auto [tx, rx] = stoker::channel<int>(io, 1);
    std::vector<int> order;
    REQUIRE_FALSE(tx.try_send(0));
    for (int who = 1; who <= 3; ++who) {
        tx.reserve([&order, who](error_code error, stoker::permit<int> permit) {
            if (!error)
                order.push_back(who);
            permit.send(int(who));
        });
    }
    settle(io);
    CHECK(order.empty());
    for (int who = 0; who <= 3; ++who) {
        CHECK_FALSE(tx.try_reserve());
        CHECK(rx.try_receive() == who);
        settle(io);
    }
    CHECK(order == std::vector{1, 2, 3});
}

TEST_CASE("receive ends when the last sender is gone and the queue is drained", "[runtime]") {
    asio::io_context io;
    auto [tx, rx] = stoker::channel<int>(io, 4);
    std::optional<stoker::sender<int>> first(tx);
    std::optional<stoker::sender<int>> second(std::move(tx));
    REQUIRE_FALSE(first->try_send(1));
    first.reset();
    received one, two;
    rx.receive(one.callback());
    settle(io);
    CHECK(one.value == 1);
    rx.receive(two.callback());
    settle(io);
    CHECK(two.calls == 0);

    SECTION("a last message comes before the end") {
        REQUIRE_FALSE(second->try_send(2));
        second.reset();
        settle(io);
        CHECK(two.value == 2);
    }
    SECTION("the end reaches a receive that waits") {
        second.reset();
        settle(io);
        CHECK(two.calls == 1);
        CHECK_FALSE(two.error);
        CHECK_FALSE(two.value);
    }
    SECTION("a permit that outlives its sender still counts") {
        auto permit = second->try_reserve();
        second.reset();
        settle(io);
        CHECK(two.calls == 0);
        permit.send(9);
        settle(io);
        CHECK(two.value == 9);
    }
    SECTION("a permit dropped by nobody's sender is the end") {
        auto permit = second->try_reserve();
        second.reset();
        permit = {};
        settle(io);
        CHECK(two.calls == 1);
        CHECK_FALSE(two.value);
    }
}

TEST_CASE("closing refuses new messages and keeps queued ones", "[runtime]") {
    asio::io_context io;
    auto [tx, rx] = stoker::channel<int>(io, 2);
    auto permit = tx.try_reserve();
    REQUIRE_FALSE(tx.try_send(1));
    reserved waiting, late;
    tx.reserve(waiting.callback());
    tx.close();
    tx.reserve(late.callback());
    settle(io);
    CHECK(waiting.error == stoker::channel_errc::closed);
    CHECK(late.error == stoker::channel_errc::closed);
    CHECK_FALSE(late.value);
    permit.send(2);
    received one, two, end;
    rx.receive(one.callback());
    settle(io);
    rx.receive(two.callback());
    settle(io);
    rx.receive(end.callback());
    settle(io);
    CHECK(one.value == 1);
    CHECK(two.value == 2);
    CHECK(end.calls == 1);
    CHECK_FALSE(end.error);
    CHECK_FALSE(end.value);
}

TEST_CASE("the receiver's death fails senders that wait and drops what is queued", "[runtime]") {
    asio::io_context io;
    reserved waiting, granted, late;
    received pending;
    stoker::permit<living> kept;
    {
        auto [tx, rx] = stoker::channel<living>(io, 2);
        kept = tx.try_reserve();
        REQUIRE_FALSE(tx.try_send(living(1)));
        std::string text;
        tx.reserve([&](error_code error, stoker::permit<living> permit) {
            CHECK_FALSE(permit);
            text = error.message();
        });
        { const auto gone = std::move(rx); }
        settle(io);
        CHECK_THAT(text, Catch::Matchers::ContainsSubstring("receiver is gone"));
        CHECK(tx.try_send(living(2)));
        CHECK(living::count == 0);
    }
    kept.send(living(3));
    CHECK(living::count == 0);

    auto [tx, rx] = stoker::channel<int>(io, 1);
    tx.reserve(granted.callback());  // granted now, delivered only after the receiver's death
    { const auto gone = std::move(rx); }
    settle(io);
    CHECK(granted.error == stoker::channel_errc::closed);
    CHECK_FALSE(granted.value);

    stoker::channel<int> other(io, 1);
    other.rx.receive(pending.callback());
    { const auto gone = std::move(other.rx); }
    settle(io);
    CHECK(pending.calls == 1);
    CHECK(pending.error == asio::error::operation_aborted);
}

TEST_CASE("a second receive is refused while one is pending", "[runtime]") {
    asio::io_context io;
    auto [tx, rx] = stoker::channel<int>(io, 1);
    received first, second, third;
    rx.receive(first.callback());
    rx.receive(second.callback());
    settle(io);
    CHECK(first.calls == 0);
    CHECK(second.error == stoker::channel_errc::busy);
    REQUIRE_FALSE(tx.try_send(1));
    CHECK_FALSE(rx.try_receive());  // the message belongs to the receive that waits
    settle(io);
    CHECK(first.value == 1);
    rx.receive(third.callback());
    REQUIRE_FALSE(tx.try_send(3));
    settle(io);
    CHECK(third.value == 3);
}

TEST_CASE("handlers never run inside the call that starts the operation", "[runtime]") {
    asio::io_context io;
    auto [tx, rx] = stoker::channel<int>(io, 1);
    reserved place;
    received message;
    tx.reserve(place.callback());
    CHECK(place.calls == 0);
    settle(io);
    REQUIRE(place.value);
    rx.receive(message.callback());
    place.value.send(1);
    CHECK(message.calls == 0);
    settle(io);
    CHECK(message.value == 1);
}

TEST_CASE("operations complete on the executor of their handler", "[runtime]") {
    asio::io_context home, other;
    auto [tx, rx] = stoker::channel<int>(home, 1);
    received message;
    rx.receive(asio::bind_executor(other, message.callback()));
    REQUIRE_FALSE(tx.try_send(1));
    settle(home);
    CHECK(message.calls == 0);
    settle(other);
    CHECK(message.value == 1);
    // While it waits, an operation is work: run() of its context does not return.
    rx.receive(asio::bind_executor(other, message.callback()));
    settle(other);
    CHECK_FALSE(other.stopped());
    CHECK(home.poll() == 0);
    CHECK(home.stopped());
}

TEST_CASE("operations take any completion token", "[runtime]") {
    asio::io_context io;
    auto [tx, rx] = stoker::channel<int>(io, 1);
    auto place = tx.reserve(asio::use_future);
    settle(io);
    place.get().send(4);
    auto message = rx.receive(asio::use_future);
    settle(io);
    CHECK(message.get() == 4);

    const auto use_tuple = [&tx, &rx]() -> asio::awaitable<void> {
        auto permit = co_await tx.reserve(asio::deferred);
        permit.send(5);
        auto [error, five] = co_await rx.receive(asio::as_tuple(asio::use_awaitable));
        CHECK_FALSE(error);
        CHECK(five == 5);
        rx.close();
        auto [refusal, none] = co_await tx.reserve(asio::as_tuple(asio::use_awaitable));
        CHECK(refusal == stoker::channel_errc::closed);
        CHECK_FALSE(none);
        auto end = co_await rx.receive(asio::deferred);
        CHECK_FALSE(end);
    };
    io.restart();
    CHECK(finishes(io, use_tuple));
}

TEST_CASE("errors are thrown into a coroutine with their text", "[runtime]") {
    const auto use_closed = []() -> asio::awaitable<void> {
        auto [tx, rx] = stoker::channel<int>(co_await asio::this_coro::executor, 1);
        rx.close();
        auto permit = co_await tx.reserve();
        permit.send(1);
    };
    CHECK_THROWS_WITH(finishes(use_closed), Catch::Matchers::ContainsSubstring("closed"));
    CHECK(std::string(stoker::channel_category().name()) == "stoker.channel");
}

TEST_CASE("every type of cancellation ends a wait, with nothing taken", "[runtime]") {
    const auto type = GENERATE(asio::cancellation_type::terminal, asio::cancellation_type::partial,
                               asio::cancellation_type::total);
    asio::io_context io;
    auto [tx, rx] = stoker::channel<int>(io, 1);
    asio::cancellation_signal signal;

    SECTION("a receive that waits") {
        received message, next;
        rx.receive(asio::bind_cancellation_slot(signal.slot(), message.callback()));
        signal.emit(type);
        CHECK(message.calls == 0);
        settle(io);
        CHECK(message.error == asio::error::operation_aborted);
        REQUIRE_FALSE(tx.try_send(1));
        rx.receive(next.callback());
        settle(io);
        CHECK(next.value == 1);
    }
    SECTION("a receive whose message is there and whose last step is on its way") {
        received message, next;
        REQUIRE_FALSE(tx.try_send(1));
        rx.receive(asio::bind_cancellation_slot(signal.slot(), message.callback()));
        signal.emit(type);
        settle(io);
        CHECK(message.calls == 1);
        CHECK(message.error == asio::error::operation_aborted);
        CHECK_FALSE(message.value);
        CHECK(rx.size() == 1);
        signal.emit(type);  // too late for the next one
        rx.receive(next.callback());
        signal.emit(type);
        settle(io);
        CHECK(next.value == 1);
    }
    SECTION("a reserve that waits") {
        reserved cancelled, next;
        REQUIRE_FALSE(tx.try_send(1));
        tx.reserve(asio::bind_cancellation_slot(signal.slot(), cancelled.callback()));
        tx.reserve(next.callback());
        signal.emit(type);
        settle(io);
        CHECK(cancelled.error == asio::error::operation_aborted);
        CHECK_FALSE(cancelled.value);
        CHECK(rx.try_receive() == 1);
        settle(io);
        CHECK(next.value);
    }
}

TEST_CASE("in 5000 races of a receive against a timer no message is lost", "[runtime]") {
    constexpr int rounds = 5000;
    std::vector<int> seen;
    int timer_won = 0;
    const auto race = [&]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        auto [tx, rx] = stoker::channel<int>(executor, 1);
        asio::steady_timer deadline(executor);
        asio::steady_timer post_time(executor);
        for (int round = 0; round < rounds; ++round) {
            // Both are due at once, in either order; every seventh deadline comes first for sure.
            const auto now = std::chrono::steady_clock::now();
            deadline.expires_at(now);
            post_time.expires_at(round % 7 == 0 ? now + std::chrono::microseconds(50) : now);
            post_time.async_wait([&tx, round](error_code) {
                const auto refused = tx.try_send(int(round));
                if (refused)
                    std::abort();
            });
            auto first = co_await (rx.receive() || deadline.async_wait(asio::use_awaitable));
            if (first.index() == 0) {
                seen.push_back(*std::get<0>(first));
            } else {
                ++timer_won;
                auto late = co_await rx.receive();
                seen.push_back(*late);
            }
        }
    };
    REQUIRE(finishes(race));
    REQUIRE(seen.size() == rounds);
    bool in_order = true;
    for (int round = 0; round < rounds; ++round) {
        in_order = in_order && seen[static_cast<std::size_t>(round)] == round;
    }
    CHECK(in_order);
    CHECK(timer_won > 0);
}

TEST_CASE("a channel may outlive its context and serve the next one", "[runtime]") {
    auto io = std::make_unique<asio::io_context>();
    auto [tx, rx] = stoker::channel<int>(*io, 1);
    received lost, message;
    rx.receive(lost.callback());
    io.reset();  // gives the waiting receive up
    CHECK(lost.calls == 0);
    asio::io_context next;
    rx.receive(asio::bind_executor(next, message.callback()));
    REQUIRE_FALSE(tx.try_send(1));
    settle(next);
    CHECK(message.value == 1);
}
