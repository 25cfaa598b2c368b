// A dataset of coroutines whose samples take 20 ms each: 2 workers, so many under way in each.
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstring>
#include <stoker/stoker.hpp>

#include "latency/latency_case.hpp"
#include "support/measurement.hpp"

namespace asio = boost::asio;

namespace {

struct object {
    std::uint64_t number;
    stoker::tensor<std::uint8_t, 56> bytes;
};

struct distant_objects {
    std::size_t size() const { return 100'000; }
    asio::awaitable<object> get(stoker::index index) const {
        asio::steady_timer timer(co_await asio::this_coro::executor, bench::sample_latency);
        co_await timer.async_wait(asio::use_awaitable);
        co_return object{index, {}};
    }
};

template <class Loader>
asio::awaitable<void> read(Loader& loader) {
    bench::throughput measured(1);
    std::uint64_t expected = 0;
    do {
        auto batch = co_await loader.next();
        for (const auto number : batch[&object::number]) {
            if (number != expected++)
                bench::fail("a sample is missing");
        }
        expected %= 100'000;
    } while (measured.another());
    bench::report("samples_per_s", measured.per_second() * bench::latency_batch_size, "samples/s");
}

}  // namespace

int main(int argc, char** argv) {
    const bench::arguments arguments({argv, static_cast<std::size_t>(argc)});
    const int in_flight = bench::in_flight_of(arguments.test_case);
    stoker::loader loader{distant_objects{},
                          {.batch_size = bench::latency_batch_size,
                           .num_workers = bench::latency_workers,
                           .in_flight = in_flight,
                           .prefetch_factor = bench::prefetch_for(in_flight),
                           .epochs = stoker::endless}};
    asio::io_context context;
    asio::co_spawn(context, read(loader), stoker::rethrow);
    context.run();
}
