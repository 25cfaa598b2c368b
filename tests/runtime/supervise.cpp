// Supervision: when a child is restarted, with what, how often, and how it is given up.
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/system/system_error.hpp>

#include <stoker/core/error.hpp>
#include <stoker/runtime/scope.hpp>
#include <stoker/runtime/supervise.hpp>

#include "runtime/restart_budget.hpp"
#include "runtime/running.hpp"
#include "support/catch.hpp"

namespace asio = boost::asio;
using namespace std::chrono_literals;
using stoker::restart;
using stoker::restart_policy;
using stoker::test_support::finishes;
using stoker::test_support::give_way;
using stoker::test_support::living;

// A policy may stand beside a co_await: g++ 12 destroys twice only what has a destructor.
static_assert(std::is_trivially_copyable_v<restart_policy>);
static_assert(std::is_nothrow_copy_constructible_v<stoker::restarts_exhausted>);

namespace {

restart_policy at_once(restart when, int max_restarts) {
    return {.when = when, .max_restarts = max_restarts, .back_off = {0ms, 0ms, 0ms}};
}

}  // namespace

TEST_CASE("a child is restarted on failure, each time with new state", "[runtime]") {
    int started = 0;
    std::vector<int> values;
    const auto factory = [&]() -> asio::awaitable<void> {
        const int attempt = ++started;
        living state(0);
        state = living(state.value() + 1);
        values.push_back(state.value());
        co_await give_way();
        if (attempt < 3)
            throw std::runtime_error("attempt " + std::to_string(attempt));
    };
    const auto parent = [&]() -> asio::awaitable<void> {
        co_await stoker::supervise(at_once(restart::on_failure, 5), factory);
    };
    REQUIRE(finishes(parent));
    CHECK(started == 3);
    CHECK(values == std::vector{1, 1, 1});
    CHECK(living::count == 0);
}

TEST_CASE("what is restarted depends on the policy and on how the child ended", "[runtime]") {
    struct row {
        restart when;
        bool fails;
        int starts;
        std::string thrown;
    };
    const auto row = GENERATE(values<struct row>({
        {restart::never, false, 1, ""},
        {restart::never, true, 1, "child failed"},
        {restart::on_failure, false, 1, ""},
        {restart::on_failure, true, 3, "ended 3 times"},
        {restart::always, false, 3, "(1) returned; (2) returned; (3) returned"},
        {restart::always, true, 3, "(3) child failed"},
    }));
    int started = 0;
    const auto factory = [&]() -> asio::awaitable<void> {
        ++started;
        co_await give_way();
        if (row.fails)
            throw std::runtime_error("child failed");
    };
    std::string thrown;
    const auto parent = [&]() -> asio::awaitable<void> {
        try {
            co_await stoker::supervise(at_once(row.when, 2), factory);
        } catch (const std::exception& exception) {
            thrown = exception.what();
        }
    };
    REQUIRE(finishes(parent));
    CHECK(started == row.starts);
    CHECK(thrown.empty() == row.thrown.empty());
    CHECK_THAT(thrown, Catch::Matchers::ContainsSubstring(row.thrown));
}

TEST_CASE("a budget that is spent throws the history into the scope", "[runtime]") {
    int started = 0;
    bool sibling_cancelled = false;
    const auto factory = [&]() -> asio::awaitable<void> {
        const int attempt = ++started;
        co_await give_way();
        throw std::runtime_error("end " + std::to_string(attempt));
    };
    const auto sibling = [&]() -> asio::awaitable<void> {
        asio::steady_timer never(co_await asio::this_coro::executor,
                                 std::chrono::steady_clock::time_point::max());
        try {
            co_await never.async_wait(asio::use_awaitable);
        } catch (...) {
            sibling_cancelled = true;
            throw;
        }
    };
    std::vector<std::string> texts;
    const auto parent = [&]() -> asio::awaitable<void> {
        const auto body = [&](stoker::scope& children) -> asio::awaitable<void> {
            children.spawn(sibling());
            children.spawn(stoker::supervise(at_once(restart::on_failure, 2), factory));
            co_return;
        };
        try {
            co_await stoker::scoped(body);
        } catch (const stoker::restarts_exhausted& error) {
            for (const auto& end : error.history()) {
                texts.push_back(end.text);
                if (!end.failure)
                    texts.push_back("no exception");
            }
        }
    };
    REQUIRE(finishes(parent));
    CHECK(texts == std::vector<std::string>{"end 1", "end 2", "end 3"});
    CHECK(sibling_cancelled);
}

TEST_CASE("a factory that throws is not asked again", "[runtime]") {
    int asked = 0;
    const auto factory = [&]() -> asio::awaitable<void> {
        ++asked;
        throw std::runtime_error("no such file");
    };
    const auto parent = [&]() -> asio::awaitable<void> {
        co_await stoker::supervise(at_once(restart::always, 9), factory);
    };
    CHECK_THROWS_WITH(finishes(parent), "no such file");
    CHECK(asked == 1);
}

TEST_CASE("the factory is copied, and lives as long as its child", "[runtime]") {
    std::string seen;
    const auto parent = [&]() -> asio::awaitable<void> {
        const auto body = [&](stoker::scope& children) -> asio::awaitable<void> {
            const auto factory =
                [&seen, text = std::make_shared<std::string>("owned")]() -> asio::awaitable<void> {
                co_await give_way();
                seen = *text;
            };
            children.spawn(stoker::supervise(restart_policy(), factory));
            co_return;  // the original dies here, before the child reads its capture
        };
        co_await stoker::scoped(body);
    };
    REQUIRE(finishes(parent));
    CHECK(seen == "owned");
}

TEST_CASE("cancellation ends the child, or the pause, and is no failure", "[runtime]") {
    const bool in_pause = GENERATE(false, true);
    int started = 0;
    const auto factory = [&]() -> asio::awaitable<void> {
        ++started;
        if (in_pause)
            throw std::runtime_error("at once");
        asio::steady_timer never(co_await asio::this_coro::executor,
                                 std::chrono::steady_clock::time_point::max());
        co_await never.async_wait(asio::use_awaitable);
    };
    restart_policy policy;
    policy.when = restart::always;
    policy.back_off = {1h, 1h, 1h};
    asio::io_context io;
    asio::cancellation_signal signal;
    std::exception_ptr failure;
    asio::co_spawn(io, stoker::supervise(policy, factory),
                   asio::bind_cancellation_slot(
                       signal.slot(), [&](std::exception_ptr ended) { failure = ended; }));
    io.poll();
    CHECK(started == 1);
    signal.emit(asio::cancellation_type::terminal);
    io.run_for(10s);
    CHECK(io.stopped());
    CHECK(started == 1);
    REQUIRE(failure);
    try {
        std::rethrow_exception(failure);
    } catch (const boost::system::system_error& error) {
        CHECK(error.code() == asio::error::operation_aborted);
    }
}

TEST_CASE("the budget counts within a window, and pauses grow within it", "[runtime]") {
    restart_policy policy;
    policy.max_restarts = 3;
    policy.window = 10s;
    stoker::detail::restart_budget budget(policy);
    const stoker::detail::restart_budget::time_point start{};
    CHECK(budget.spend(start + 0s, nullptr) == 0ms);
    CHECK(budget.spend(start + 1s, nullptr) == 100ms);
    CHECK(budget.spend(start + 2s, nullptr) == 1000ms);
    SECTION("one too many within the window") {
        CHECK(budget.spend(start + 9999ms, nullptr) == std::nullopt);
        CHECK(budget.take_history().size() == 4);
    }
    SECTION("the first has left the window") {
        CHECK(budget.spend(start + 10s, nullptr) == 1000ms);
        CHECK(budget.spend(start + 10s, nullptr) == std::nullopt);
    }
    SECTION("a long quiet time starts anew") {
        CHECK(budget.spend(start + 100s, nullptr) == 0ms);
    }
}

TEST_CASE("no restarts allowed means that the first end is the last", "[runtime]") {
    stoker::detail::restart_budget budget(at_once(restart::always, 0));
    CHECK_FALSE(budget.spend({}, std::make_exception_ptr(7)));
    CHECK(budget.take_history().front().text == "an exception that is no std::exception");
}

TEST_CASE("a policy that cannot be is refused by name and value", "[runtime]") {
    const auto child = []() -> asio::awaitable<void> { co_return; };
    const auto refusal = [&](const restart_policy& policy) -> std::string {
        try {
            const auto accepted = stoker::supervise(policy, child);
        } catch (const stoker::error& error) {
            return error.code() == stoker::errc::invalid_option ? error.what() : "wrong code";
        }
        return "accepted";
    };
    using Catch::Matchers::ContainsSubstring;
    CHECK_THAT(refusal({.max_restarts = -1}),
               ContainsSubstring("max_restarts") && ContainsSubstring("-1"));
    CHECK_THAT(refusal({.window = 0ms}), ContainsSubstring("window"));
    CHECK_THAT(refusal({.back_off = {0ms, -5ms, 0ms}}), ContainsSubstring("-5"));
    CHECK(refusal({}) == "accepted");
}
