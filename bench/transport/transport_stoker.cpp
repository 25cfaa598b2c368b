// How many batches a second arrive through `co_await loader.next()` when the loader is all there
// is.
//
// small asks what a batch costs whatever is in it (32 samples of 16 bytes); large, whether its
// bytes arrive as fast as the cores can copy them (64 images of 3x224x224 bytes). Every sample is
// copied once, by a worker, from a pool that the workers share, at a keyed index.
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <cstring>
#include <stoker/stoker.hpp>

#include "support/allocations.hpp"
#include "support/measurement.hpp"
#include "support/samples.hpp"

namespace asio = boost::asio;

namespace {

struct small_sample {
    stoker::tensor<std::uint8_t, bench::small_sample_bytes> bytes;
};

struct image_sample {
    stoker::tensor<std::uint8_t, 3, 224, 224> bytes;
};

template <class Sample>
struct pool_dataset {
    const bench::pool* from;

    std::size_t size() const { return bench::epoch_samples; }
    void read(stoker::index index, stoker::row<Sample> row) const {
        std::memcpy(row[&Sample::bytes].data(), from->sample(index), from->sample_bytes());
    }
};

/// Checks one word of every sample of the batches, in order.
class checker {
  public:
    explicit checker(const bench::pool& pool) : pool_(&pool) {}

    template <class Sample>
    void operator()(const stoker::batch<Sample>& batch) {
        if (!batch)
            bench::fail("stoker: the epoch ended");
        const auto bytes = batch[&Sample::bytes];
        const auto* first = bytes.data();
        for (std::size_t item = 0; item < batch.size(); ++item) {
            if (!pool_->matches(next_++, first + item * pool_->sample_bytes())) {
                bench::fail("stoker: wrong data");
            }
        }
    }

  private:
    const bench::pool* pool_;
    std::uint64_t next_ = 0;
};

template <class Loader>
asio::awaitable<void> take(Loader& loader, checker& check, std::uint64_t batches) {
    for (std::uint64_t taken = 0; taken < batches; ++taken) {
        auto batch = co_await loader.next();
        check(batch);
    }
}

/// The marks and the counter are set inside the coroutine: its own start is no part of a batch.
template <class Loader>
asio::awaitable<void> count_system_calls(Loader& loader, checker& check, std::uint64_t batches) {
    const bench::marked_stretch stretch("syscalls_per_batch", batches);
    for (std::uint64_t taken = 0; taken < batches; ++taken) {
        auto batch = co_await loader.next();
        check(batch);
    }
}

template <class Loader>
asio::awaitable<void> count_allocations(Loader& loader, checker& check, std::uint64_t batches) {
    bench_count_allocations(1);
    for (std::uint64_t taken = 0; taken < batches; ++taken) {
        auto batch = co_await loader.next();
        check(batch);
    }
    bench_count_allocations(0);
    bench::report("allocations_per_batch",
                  static_cast<double>(bench_allocations()) / static_cast<double>(batches), "calls");
}

template <class Loader>
asio::awaitable<void> measure(Loader& loader, checker& check, std::uint64_t stride) {
    bench::throughput measured(stride);
    bool going_on = true;
    while (going_on) {
        auto batch = co_await loader.next();
        check(batch);
        going_on = measured.another();
    }
    bench::report("batches_per_s", measured.per_second(), "1/s");
}

void run(asio::awaitable<void> work) {
    asio::io_context context;
    asio::co_spawn(context, std::move(work), stoker::rethrow);
    context.run();
}

template <class Sample>
void transport(const bench::pool& pool, int batch_size, int prefetch, bool count) {
    const bool small = pool.sample_bytes() == bench::small_sample_bytes;
    const std::uint64_t events = small ? 5000 : 200;
    stoker::loader loader{pool_dataset<Sample>{&pool},
                          {.batch_size = batch_size,
                           .num_workers = 2,
                           .prefetch_factor = prefetch,
                           .epochs = stoker::endless}};
    checker check(pool);
    if (count) {
        run(take(loader, check, 200));
        run(count_system_calls(loader, check, events));
    } else {
        run(measure(loader, check, small ? 16 : 1));
        run(count_allocations(loader, check, events));
    }
}

}  // namespace

int main(int argc, char** argv) {
    const bench::arguments arguments({argv, static_cast<std::size_t>(argc)});
    if (arguments.test_case == "small") {
        transport<small_sample>(bench::small_pool(), bench::small_batch_size, 16, arguments.count);
    } else if (arguments.test_case == "large") {
        transport<image_sample>(bench::image_pool(), bench::image_batch_size, 2, arguments.count);
    } else {
        bench::fail("unknown case");
    }
}
