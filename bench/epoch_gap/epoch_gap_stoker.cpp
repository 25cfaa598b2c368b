// What a training loop waits for between two epochs: with workers that stay and epochs that were
// announced (persistent), and with fresh workers for every epoch (fresh).
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <cstring>
#include <stoker/stoker.hpp>

#include "epoch_gap/slow_samples.hpp"
#include "support/measurement.hpp"
#include "support/samples.hpp"

namespace asio = boost::asio;

namespace {

struct small_sample {
    stoker::tensor<std::uint8_t, bench::small_sample_bytes> bytes;
};

struct slow_dataset {
    bench::pool from;

    std::size_t size() const { return bench::gap_epoch_samples; }
    void read(stoker::index index, stoker::row<small_sample> row) const {
        bench::fetch_slowly(index);
        std::memcpy(row[&small_sample::bytes].data(), from.sample(index), from.sample_bytes());
    }
};

template <class Loader>
asio::awaitable<void> train(Loader& loader, bench::gap_recorder& recorder) {
    for (int epoch = 0; epoch < bench::gap_epochs; ++epoch) {
        while (auto batch = co_await loader.next())
            recorder.delivered(epoch);
    }
}

}  // namespace

int main(int argc, char** argv) {
    const bench::arguments arguments({argv, static_cast<std::size_t>(argc)});
    const bool persistent = arguments.test_case == "persistent";
    if (!persistent && arguments.test_case != "fresh")
        bench::fail("unknown case");
    stoker::loader loader{slow_dataset{bench::small_pool()},
                          {.batch_size = bench::small_batch_size,
                           .num_workers = bench::gap_workers,
                           .persistent_workers = persistent,
                           .epochs = bench::gap_epochs}};
    bench::gap_recorder recorder;
    asio::io_context context;
    asio::co_spawn(context, train(loader, recorder), stoker::rethrow);
    context.run();
    recorder.report();
}
