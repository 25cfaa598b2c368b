// Scopes: every child is joined, the first failure cancels the rest, cancellation goes down.
#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/system/system_error.hpp>

#include <stoker/runtime/channel.hpp>
#include <stoker/runtime/scope.hpp>

#include "runtime/running.hpp"
#include "support/catch.hpp"

namespace asio = boost::asio;
using namespace asio::experimental::awaitable_operators;
using stoker::test_support::finishes;
using stoker::test_support::give_way;
using stoker::test_support::living;

static_assert(!std::is_copy_constructible_v<stoker::scope>);
static_assert(!std::is_move_constructible_v<stoker::scope>);

namespace {

using event_log = std::vector<std::string>;

/// Waits until it is cancelled, and says so.
asio::awaitable<void> wait_for_ever(event_log& events, std::string name) {
    const living local;
    asio::steady_timer never(co_await asio::this_coro::executor,
                             std::chrono::steady_clock::time_point::max());
    try {
        co_await never.async_wait(asio::use_awaitable);
    } catch (const boost::system::system_error& error) {
        events.push_back(name +
                         (error.code() == asio::error::operation_aborted ? " aborted" : "?"));
        throw;
    }
}

asio::awaitable<void> end_later(event_log& events, std::string name) {
    const living local;
    co_await give_way();
    events.push_back(name + " ended");
}

asio::awaitable<void> fail_later(std::string text) {
    co_await give_way();
    throw std::runtime_error(text);
}

asio::awaitable<void> body_function(stoker::scope& children) {
    children.spawn(fail_later("from a function"));
    co_return;
}

}  // namespace

TEST_CASE("a scope returns when its body and all children have ended", "[runtime]") {
    event_log events;
    const auto parent = [&]() -> asio::awaitable<void> {
        const auto body = [&](stoker::scope& children) -> asio::awaitable<void> {
            children.spawn(end_later(events, "one"));
            const auto nested = [&](stoker::scope& inner) -> asio::awaitable<void> {
                children.spawn(end_later(events, "outer"));
                inner.spawn(end_later(events, "inner"));
                co_return;
            };
            co_await stoker::scoped(nested);
            events.push_back("body ended");
        };
        co_await stoker::scoped(body);
        events.push_back("scope ended");
    };
    REQUIRE(finishes(parent));
    REQUIRE(events.size() == 5);
    CHECK(events.back() == "scope ended");
    CHECK(living::count == 0);
}

TEST_CASE("an empty scope ends", "[runtime]") {
    bool ended = false;
    const auto parent = [&]() -> asio::awaitable<void> {
        const auto body = [](stoker::scope&) -> asio::awaitable<void> { co_return; };
        co_await stoker::scoped(body);
        ended = true;
    };
    REQUIRE(finishes(parent));
    CHECK(ended);
}

TEST_CASE("a function may be a body, and its exceptions are thrown", "[runtime]") {
    const auto parent = []() -> asio::awaitable<void> { co_await stoker::scoped(body_function); };
    CHECK_THROWS_WITH(finishes(parent), "from a function");
    const auto plain = [](stoker::scope&) -> asio::awaitable<void> {
        throw std::runtime_error("before any coroutine");
    };
    const auto other = [&]() -> asio::awaitable<void> { co_await stoker::scoped(plain); };
    CHECK_THROWS_WITH(finishes(other), "before any coroutine");
}

TEST_CASE("the first exception cancels the rest, last started first, and is thrown", "[runtime]") {
    event_log events;
    std::string caught;
    const auto parent = [&]() -> asio::awaitable<void> {
        const auto body = [&](stoker::scope& children) -> asio::awaitable<void> {
            children.spawn(wait_for_ever(events, "one"));
            children.spawn(fail_later("first failure"));
            children.spawn(wait_for_ever(events, "two"));
            co_await wait_for_ever(events, "body");
        };
        try {
            co_await stoker::scoped(body);
        } catch (const std::exception& exception) {
            caught = exception.what();
        }
        events.push_back("scope ended");
    };
    REQUIRE(finishes(parent));
    CHECK(caught == "first failure");
    // The body is the last to become a child, for it starts the others before it first waits.
    CHECK(events == event_log{"body aborted", "two aborted", "one aborted", "scope ended"});
    CHECK(living::count == 0);
}

TEST_CASE("an exception of the body cancels the children", "[runtime]") {
    event_log events;
    const auto parent = [&]() -> asio::awaitable<void> {
        const auto body = [&](stoker::scope& children) -> asio::awaitable<void> {
            children.spawn(wait_for_ever(events, "one"));
            throw std::runtime_error("body failed");
            co_return;
        };
        co_await stoker::scoped(body);
    };
    CHECK_THROWS_WITH(finishes(parent), "body failed");
    CHECK(events == event_log{"one aborted"});
    CHECK(living::count == 0);
}

TEST_CASE("a child spawned into a scope that is ending is cancelled at once", "[runtime]") {
    event_log events;
    const auto parent = [&]() -> asio::awaitable<void> {
        const auto body = [&](stoker::scope& children) -> asio::awaitable<void> {
            children.cancel();
            children.spawn(wait_for_ever(events, "late"));
            co_return;
        };
        co_await stoker::scoped(body);
        events.push_back("scope ended");
    };
    REQUIRE(finishes(parent));
    CHECK(events == event_log{"late aborted", "scope ended"});
}

TEST_CASE("a scope that was told to end returns; a real failure is still thrown", "[runtime]") {
    event_log events;
    const bool fails = GENERATE(false, true);
    const auto parent = [&]() -> asio::awaitable<void> {
        const auto stubborn = [&]() -> asio::awaitable<void> {
            try {
                co_await wait_for_ever(events, "stubborn");
            } catch (const boost::system::system_error&) {
                if (fails)
                    throw std::runtime_error("failed while it ended");
            }
        };
        const auto body = [&](stoker::scope& children) -> asio::awaitable<void> {
            children.spawn(stubborn());
            children.spawn(wait_for_ever(events, "one"));
            co_await give_way();
            children.cancel();
        };
        co_await stoker::scoped(body);
        events.push_back("returned");
    };
    if (fails) {
        CHECK_THROWS_WITH(finishes(parent), "failed while it ended");
    } else {
        REQUIRE(finishes(parent));
        CHECK(events == event_log{"one aborted", "stubborn aborted", "returned"});
    }
}

TEST_CASE("cancellation of the parent cancels the children and arrives after them", "[runtime]") {
    event_log events;
    asio::io_context io;
    asio::cancellation_signal signal;
    std::exception_ptr failure;
    const auto parent = [&]() -> asio::awaitable<void> {
        const auto body = [&](stoker::scope& children) -> asio::awaitable<void> {
            children.spawn(wait_for_ever(events, "one"));
            co_await wait_for_ever(events, "body");
        };
        try {
            co_await stoker::scoped(body);
        } catch (...) {
            events.push_back("scope threw");
            throw;
        }
    };
    asio::co_spawn(io, parent,
                   asio::bind_cancellation_slot(
                       signal.slot(), [&](std::exception_ptr ended) { failure = ended; }));
    io.poll();
    CHECK(events.empty());
    signal.emit(asio::cancellation_type::terminal);
    io.run_for(std::chrono::seconds(10));
    CHECK(events == event_log{"body aborted", "one aborted", "scope threw"});
    REQUIRE(failure);
    CHECK_THROWS_AS(std::rethrow_exception(failure), boost::system::system_error);
    CHECK(living::count == 0);
}

TEST_CASE("a parent cancelled by its own child before it waits still joins", "[runtime]") {
    event_log events;
    asio::io_context io;
    asio::cancellation_signal signal;
    const auto parent = [&]() -> asio::awaitable<void> {
        const auto body = [&](stoker::scope& children) -> asio::awaitable<void> {
            children.spawn(wait_for_ever(events, "one"));
            signal.emit(asio::cancellation_type::terminal);
            co_return;
        };
        try {
            co_await stoker::scoped(body);
        } catch (...) {
            events.push_back("scope threw");
            throw;
        }
    };
    asio::co_spawn(io, parent, asio::bind_cancellation_slot(signal.slot(), asio::detached));
    io.run_for(std::chrono::seconds(10));
    CHECK(io.stopped());
    CHECK(events == event_log{"one aborted", "scope threw"});
}

TEST_CASE("a scope loses to a deadline and leaves nothing running", "[runtime]") {
    event_log events;
    std::size_t winner = 9;
    const auto parent = [&]() -> asio::awaitable<void> {
        asio::steady_timer deadline(co_await asio::this_coro::executor,
                                    std::chrono::milliseconds(1));
        const auto body = [&](stoker::scope& children) -> asio::awaitable<void> {
            children.spawn(wait_for_ever(events, "one"));
            co_return;
        };
        auto first = co_await (stoker::scoped(body) || deadline.async_wait(asio::use_awaitable));
        winner = first.index();
    };
    REQUIRE(finishes(parent));
    CHECK(winner == 1);
    CHECK(events == event_log{"one aborted"});
}

TEST_CASE("thousands of children that have ended leave nothing in their scope", "[runtime]") {
    const auto parent = [&]() -> asio::awaitable<void> {
        const auto tiny = []() -> asio::awaitable<void> { co_return; };
        const auto body = [&](stoker::scope& children) -> asio::awaitable<void> {
            for (int child = 0; child < 5000; ++child) {
                children.spawn(tiny());
                if (child % 100 == 0)
                    co_await give_way();
            }
        };
        co_await stoker::scoped(body);
    };
    CHECK(finishes(parent));
}

TEST_CASE("children on strands of a pool are joined and cancelled there", "[runtime]") {
    event_log events;
    std::atomic<int> aborted = 0;
    asio::io_context io;
    asio::thread_pool pool(3);  // ends before the scope's context, as scope.hpp asks
    const auto waits = [&]() -> asio::awaitable<void> {
        asio::steady_timer never(co_await asio::this_coro::executor,
                                 std::chrono::steady_clock::time_point::max());
        try {
            co_await never.async_wait(asio::use_awaitable);
        } catch (const boost::system::system_error&) {
            ++aborted;
            throw;
        }
    };
    const auto parent = [&]() -> asio::awaitable<void> {
        const auto body = [&](stoker::scope& children) -> asio::awaitable<void> {
            for (int child = 0; child < 6; ++child) {
                children.spawn(asio::make_strand(pool), waits());
            }
            children.spawn(asio::make_strand(pool), fail_later("from the pool"));
            co_return;
        };
        co_await stoker::scoped(body);
    };
    CHECK_THROWS_WITH(finishes(io, parent), "from the pool");
    CHECK(aborted == 6);
    pool.join();
}

TEST_CASE("a child whose own context ends is a failure of its scope", "[runtime]") {
    event_log events;
    std::optional<asio::io_context> other(std::in_place);
    asio::io_context io;
    std::string caught;
    const auto parent = [&]() -> asio::awaitable<void> {
        const auto body = [&](stoker::scope& children) -> asio::awaitable<void> {
            children.spawn(other->get_executor(), wait_for_ever(events, "elsewhere"));
            co_await wait_for_ever(events, "body");
        };
        try {
            co_await stoker::scoped(body);
        } catch (const std::exception& exception) {
            caught = exception.what();
        }
    };
    asio::co_spawn(io, parent, stoker::rethrow);
    io.poll();
    other->poll();
    other.reset();
    io.run_for(std::chrono::seconds(10));
    CHECK_THAT(caught, Catch::Matchers::ContainsSubstring("destroyed unfinished"));
    CHECK(events == event_log{"body aborted"});
    CHECK(living::count == 0);
}
