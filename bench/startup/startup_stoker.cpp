// From constructing a loader to having its first batch.
//
// The clock starts when the data is there: before the constructor where the dataset is moved in,
// and inside the server, at the end of the dataset's constructor, where a fork_server builds it.
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <stoker/stoker.hpp>

#include "startup/held_data.hpp"
#include "support/measurement.hpp"
#include "support/shared_page.hpp"

namespace asio = boost::asio;

namespace {

struct words_sample {
    stoker::tensor<std::uint64_t, 2> words;
};

struct dataset {
    bench::held_data data;

    std::size_t size() const { return data.size(); }
    words_sample get(stoker::index index) const {
        const auto held = data.get(index);
        words_sample result;
        result.words(0) = held.words[0];
        result.words(1) = held.words[1];
        return result;
    }
};

/// When the data was there; written by whichever process built it.
struct data_ready {
    bench::clock::time_point at{};
};

template <class Loader>
asio::awaitable<void> first_batch(Loader& loader, std::size_t held_bytes, bool& right) {
    auto batch = co_await loader.next();
    if (!batch)
        co_return;
    const auto words = batch[&words_sample::words];
    right = batch.size() == bench::small_batch_size;
    for (std::size_t item = 0; item < batch.size(); ++item) {
        right = right && bench::held_data::matches(held_bytes, item, words(item, 0));
    }
}

template <class Loader>
void finish(Loader& loader, const bench::startup_case& start, const data_ready& ready) {
    bool right = false;
    asio::io_context context;
    asio::co_spawn(context, first_batch(loader, start.held_bytes, right), stoker::rethrow);
    context.run();
    const auto milliseconds = bench::seconds_since(ready.at) * 1e3;
    if (!right)
        bench::fail("stoker: wrong data");
    bench::report("first_batch_ms", milliseconds, "ms");
}

void by_fork_server(const bench::startup_case& start, const stoker::loader_options& options) {
    auto& ready = bench::shared_page<data_ready>();
    stoker::fork_server forks;
    const auto build = [](std::size_t bytes, std::uintptr_t built) {
        dataset result{bench::held_data(bytes)};
        reinterpret_cast<data_ready*>(built)->at = bench::clock::now();
        return result;
    };
    // With nothing to build, the constructor's own time belongs to the measurement.
    const auto before = bench::clock::now();
    const auto address = reinterpret_cast<std::uintptr_t>(&ready);  // shared, so valid there too
    stoker::loader loader{forks.dataset(build, start.held_bytes, address), options};
    if (start.held_bytes == 0)
        ready.at = before;
    finish(loader, start, ready);
}

void by_fork(const bench::startup_case& start, const stoker::loader_options& options) {
    dataset held{bench::held_data(start.held_bytes)};
    const data_ready ready{bench::clock::now()};
    stoker::loader loader{std::move(held), options};
    finish(loader, start, ready);
}

}  // namespace

int main(int argc, char** argv) {
    const bench::arguments arguments({argv, static_cast<std::size_t>(argc)});
    const bench::startup_case start(arguments.test_case);
    stoker::loader_options options;
    options.batch_size = bench::small_batch_size;
    options.num_workers = start.workers;
    if (start.fork_server) {
        by_fork_server(start, options);
    } else {
        by_fork(start, options);
    }
}
