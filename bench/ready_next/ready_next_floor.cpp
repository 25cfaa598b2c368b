// The least that an awaited completion can cost: a bare asio::post and back, in the same rhythm as
// the other arms (a busy step between two calls, so that caches and the core are in the same
// state).
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <vector>

#include "ready_next/rhythm.hpp"
#include "support/measurement.hpp"

namespace asio = boost::asio;

namespace {

asio::awaitable<void> posts(std::vector<double>& microseconds) {
    const auto executor = co_await asio::this_coro::executor;
    for (int call = 0; call < bench::ready_calls; ++call) {
        bench::spin(bench::ready_step);
        const auto start = bench::clock::now();
        co_await asio::post(executor, asio::use_awaitable);
        microseconds.push_back(bench::seconds_since(start) * 1e6);
    }
}

void stop_on_error(std::exception_ptr error) {
    if (error)
        std::rethrow_exception(error);
}

}  // namespace

int main() {
    std::vector<double> microseconds;
    microseconds.reserve(bench::ready_calls);
    asio::io_context context;
    asio::co_spawn(context, posts(microseconds), stop_on_error);
    context.run();
    bench::report("p50_us", bench::percentile(microseconds, 50), "us");
    bench::report("p99_us", bench::percentile(microseconds, 99), "us");
}
