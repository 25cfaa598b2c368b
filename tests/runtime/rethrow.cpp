// `rethrow`: a failure that nobody awaits leaves io_context::run().
#include <stdexcept>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <stoker/runtime/rethrow.hpp>

#include "support/catch.hpp"

namespace asio = boost::asio;

TEST_CASE("an exception of a spawned coroutine leaves run()", "[runtime]") {
    asio::io_context io;
    const auto fails = []() -> asio::awaitable<void> {
        throw std::runtime_error("lost with detached");
        co_return;
    };
    const auto fails_with_result = []() -> asio::awaitable<std::string> {
        throw std::runtime_error("with a result");
        co_return "";
    };
    asio::co_spawn(io, fails, stoker::rethrow);
    CHECK_THROWS_WITH(io.run(), "lost with detached");
    asio::co_spawn(io, fails_with_result, stoker::rethrow);
    io.restart();
    CHECK_THROWS_WITH(io.run(), "with a result");
}

TEST_CASE("a coroutine that returns throws nothing, and its result is dropped", "[runtime]") {
    asio::io_context io;
    int ended = 0;
    const auto returns = [&]() -> asio::awaitable<std::string> {
        ++ended;
        co_return "a result";
    };
    const auto returns_nothing = [&]() -> asio::awaitable<void> {
        ++ended;
        co_return;
    };
    asio::co_spawn(io, returns, stoker::rethrow);
    asio::co_spawn(io, returns_nothing, stoker::rethrow);
    CHECK_NOTHROW(io.run());
    CHECK(ended == 2);
}
