// The limit: as many bare coroutines as the other arm has samples under way, each waiting 20 ms
// again and again on one event loop, and nothing else.
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "latency/latency_case.hpp"
#include "support/measurement.hpp"

namespace asio = boost::asio;

namespace {

asio::awaitable<void> wait(asio::io_context& context, bench::throughput& measured) {
    asio::steady_timer timer(context);
    do {
        timer.expires_after(bench::sample_latency);
        co_await timer.async_wait(asio::use_awaitable);
    } while (measured.another());
    context.stop();
}

}  // namespace

int main(int argc, char** argv) {
    const bench::arguments arguments({argv, static_cast<std::size_t>(argc)});
    const int waiting = bench::in_flight_of(arguments.test_case) * bench::latency_workers;
    asio::io_context context;
    bench::throughput measured(1);
    for (int i = 0; i < waiting; ++i)
        asio::co_spawn(context, wait(context, measured), asio::detached);
    context.run();
    bench::report("samples_per_s", measured.per_second(), "samples/s");
}
