// What a batch that is ready costs its consumer: `co_await loader.next()`, and `try_next()` beside
// it.
//
// Between two calls the consumer keeps its core busy for a while, as a training step does, and then
// until the loader says that a batch is ready: the workers have refilled and gone to sleep, so a
// call pays for handing out their next task too.
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <stoker/stoker.hpp>
#include <vector>

#include "ready_next/rhythm.hpp"
#include "support/measurement.hpp"
#include "support/samples.hpp"

namespace asio = boost::asio;

namespace {

struct small_sample {
    stoker::tensor<std::uint8_t, bench::small_sample_bytes> bytes;
};

struct pool_dataset {
    const bench::pool* from;

    std::size_t size() const { return bench::epoch_samples; }
    void read(stoker::index index, stoker::row<small_sample> row) const {
        std::memcpy(row[&small_sample::bytes].data(), from->sample(index), from->sample_bytes());
    }
};

template <class Loader>
void step(Loader& loader) {
    bench::spin(bench::ready_step);
    while (!loader.ready()) {
    }
}

void check(const bench::pool& pool, const stoker::batch<small_sample>& batch) {
    if (!batch)
        bench::fail("stoker: nothing was ready");
    if (!pool.matches(batch.indices()[0], batch[&small_sample::bytes].data())) {
        bench::fail("stoker: wrong data");
    }
}

template <class Loader>
asio::awaitable<void> awaited(Loader& loader, const bench::pool& pool, int calls,
                              std::vector<double>& microseconds) {
    for (int call = 0; call < calls; ++call) {
        step(loader);
        const auto start = bench::clock::now();
        auto batch = co_await loader.next();
        microseconds.push_back(bench::seconds_since(start) * 1e6);
        check(pool, batch);
    }
}

template <class Loader>
void tried(Loader& loader, const bench::pool& pool, int calls, std::vector<double>& microseconds) {
    for (int call = 0; call < calls; ++call) {
        step(loader);
        const auto start = bench::clock::now();
        auto batch = loader.try_next();
        microseconds.push_back(bench::seconds_since(start) * 1e6);
        if (!batch)
            bench::fail("stoker: nothing was ready");
        check(pool, *batch);
    }
}

}  // namespace

int main(int argc, char** argv) {
    const bench::arguments arguments({argv, static_cast<std::size_t>(argc)});
    const auto pool = bench::small_pool();
    stoker::loader loader{pool_dataset{&pool},
                          {.batch_size = bench::small_batch_size,
                           .num_workers = 2,
                           .prefetch_factor = 16,
                           .epochs = stoker::endless}};
    const int calls = arguments.count ? 500 : bench::ready_calls;
    std::vector<double> awaited_us;
    std::vector<double> tried_us;
    awaited_us.reserve(static_cast<std::size_t>(calls) + 100);
    tried_us.reserve(static_cast<std::size_t>(calls));

    asio::io_context context;
    asio::co_spawn(context, awaited(loader, pool, 100, awaited_us), stoker::rethrow);
    context.run();
    awaited_us.clear();
    context.restart();
    asio::co_spawn(context, awaited(loader, pool, calls, awaited_us), stoker::rethrow);
    const auto events = static_cast<std::uint64_t>(calls);
    {
        const bench::marked_stretch stretch("syscalls_per_next", events);
        context.run();
    }
    {
        const bench::marked_stretch stretch("syscalls_per_try_next", events);
        tried(loader, pool, calls, tried_us);
    }
    if (arguments.count)
        return 0;
    bench::report("p50_us", bench::percentile(awaited_us, 50), "us");
    bench::report("p99_us", bench::percentile(awaited_us, 99), "us");
    bench::report("try_p50_us", bench::percentile(tried_us, 50), "us");
    bench::report("try_p99_us", bench::percentile(tried_us, 99), "us");
}
