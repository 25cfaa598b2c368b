#include "loader/local_loop.hpp"

#include <stdexcept>
#include <string>

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
