// When `timeout` counts: from the first time that a batch is asked for until it is delivered or
// given up, and not while nobody looks.

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <thread>
#include <tuple>
#include <variant>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "loader/loader_datasets.hpp"
#include "support/catch.hpp"
#include "support/leaks.hpp"

using namespace stoker;
using namespace stoker::test_loader;
using namespace std::chrono_literals;
namespace asio = boost::asio;

namespace {

constexpr int for_ever = 3'600'000;

/// What `try_next` gives next; looks until there is something.
template <class Loader>
auto look_for_next(Loader& source) {
    for (;;) {
        if (auto batch = source.try_next())
            return std::move(*batch);
        test_support::pause_between_looks();
    }
}

}  // namespace

TEST_CASE("who only looks gets one error for one late batch", "[loader]") {
    loader source{slow_numbers{5, [](stoker::index i) { return i == 0 ? for_ever : 150; }},
                  {.batch_size = 1, .num_workers = 1, .timeout = 2s, .prefetch_factor = 1}};
    CHECK_THROWS_AS(look_for_next(source), error);
    for (std::int64_t expected = 1; expected < 5; ++expected) {
        const auto batch = look_for_next(source);
        REQUIRE(batch);
        CHECK(batch[&number::value](0) == expected);
    }
}

TEST_CASE("a question about a batch that is given up starts no clock of the next one", "[loader]") {
    loader source{slow_numbers{4, [](stoker::index) { return 150; }},
                  {.batch_size = 1, .num_workers = 1, .timeout = 1s, .prefetch_factor = 1}};
    for (int round = 0; round < 3; ++round) {
        CHECK_FALSE(source.ready());
        std::this_thread::sleep_for(1'100ms);
        source.restart();
        const auto batch = source.next_blocking();
        CHECK(batch[&number::value](0) == 0);
        source.restart();
    }
}

TEST_CASE("waits that are broken off again and again come to the deadline all the same",
          "[loader]") {
    using namespace asio::experimental::awaitable_operators;
    loader source{slow_numbers{4, [](stoker::index) { return for_ever; }},
                  {.batch_size = 1, .num_workers = 1, .timeout = 500ms}};
    asio::io_context io;
    std::optional<errc> told;
    const auto body = [&]() -> asio::awaitable<void> {
        asio::steady_timer timer(io);
        for (int wait = 0; wait < 200 && !told; ++wait) {
            timer.expires_after(100ms);
            // As a tuple: `||` passes over what throws and waits for the other.
            auto either = co_await (source.next(asio::as_tuple(asio::use_awaitable)) ||
                                    timer.async_wait(asio::use_awaitable));
            if (either.index() == 0) {
                const auto& [failure, batch] = std::get<0>(either);
                told =
                    failure ? stoker::detail::describe(failure, errc::protocol).code : errc::busy;
            }
        }
    };
    asio::co_spawn(io, body, rethrow);
    io.run();
    CHECK(told == errc::timed_out);
}

TEST_CASE("time in which all were stopped is no time-out for who only looks", "[loader]") {
    loader source{slow_numbers{4, [](stoker::index) { return 700; }},
                  {.batch_size = 1, .num_workers = 1, .timeout = 3s, .prefetch_factor = 1}};
    std::vector<pid_t> workers;
    REQUIRE(test_support::holds_within(10s, [&] {
        workers = source.worker_processes();
        return workers.size() == 1;
    }));
    CHECK_FALSE(source.try_next());
    ::kill(workers.front(), SIGSTOP);
    std::this_thread::sleep_for(4s);
    ::kill(workers.front(), SIGCONT);
    const auto batch = look_for_next(source);
    CHECK(batch[&number::value](0) == 0);
}
