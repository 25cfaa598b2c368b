// What killing workers costs. An epoch of 2,000 batches is read undisturbed, then again while a
// random worker is killed every 50 batches at a random instant of its work. Both streams must be
// the same, byte for byte. PyTorch's loader has no arm: its run ends at the first kill.
#include <signal.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <stoker/stoker.hpp>
#include <vector>

#include "support/measurement.hpp"
#include "support/samples.hpp"

namespace {

constexpr std::size_t batches = 2000;
constexpr std::size_t batches_a_kill = 50;
constexpr std::size_t epoch = batches * bench::small_batch_size;

struct small_sample {
    std::uint64_t number;
    stoker::tensor<std::uint8_t, bench::small_sample_bytes> bytes;
};

/// About 20 µs of work a sample.
struct busy_dataset {
    const bench::pool* from;

    std::size_t size() const { return epoch; }
    void read(stoker::index index, stoker::row<small_sample> row) const {
        bench::spin(std::chrono::microseconds(20));
        row[&small_sample::number] = index;
        std::memcpy(row[&small_sample::bytes].data(), from->sample(index), from->sample_bytes());
    }
};

struct stream {
    std::vector<std::uint64_t> numbers;
    std::vector<std::uint8_t> bytes;
    std::vector<double> waits_ms;

    template <class Batch>
    void add(const Batch& batch, double wait) {
        const auto [number, content] = batch.columns();
        numbers.insert(numbers.end(), number.begin(), number.end());
        bytes.insert(bytes.end(), content.data(), content.data() + content.size());
        waits_ms.push_back(wait);
    }
};

/// `between` is called with the loader and the number of batches taken so far.
template <class Between>
stream read_epoch(const bench::pool& pool, Between between) {
    stoker::loader loader{busy_dataset{&pool},
                          {.batch_size = bench::small_batch_size,
                           .shuffle = true,
                           .num_workers = 2,
                           .prefetch_factor = 4,
                           .seed = 11,
                           .max_restarts = 1'000'000}};
    stream all;
    for (;;) {
        const auto asked = bench::clock::now();
        const auto batch = loader.next_blocking();
        const double wait = bench::seconds_since(asked) * 1e3;
        if (!batch)
            return all;
        all.add(batch, wait);
        between(loader, all.waits_ms.size());
    }
}

/// The longest wait in the stretch after each kill.
std::vector<double> stalls(const stream& disturbed, double usual_ms) {
    std::vector<double> longest;
    for (std::size_t kill = batches_a_kill; kill < batches; kill += batches_a_kill) {
        const auto first = disturbed.waits_ms.begin() + static_cast<std::ptrdiff_t>(kill);
        const auto last = disturbed.waits_ms.begin() +
                          static_cast<std::ptrdiff_t>(std::min(kill + batches_a_kill, batches));
        longest.push_back(std::max(0.0, *std::max_element(first, last) - usual_ms));
    }
    return longest;
}

}  // namespace

int main(int argc, char** argv) {
    const bench::arguments arguments({argv, static_cast<std::size_t>(argc)});
    if (arguments.test_case != "kill9")
        bench::fail("unknown case");
    const bench::pool pool = bench::small_pool();
    stream expected = read_epoch(pool, [](auto&, std::size_t) {});

    stoker::random dice(static_cast<std::uint64_t>(bench::clock::now().time_since_epoch().count()));
    int kills = 0;
    const stream seen = read_epoch(pool, [&](auto& loader, std::size_t taken) {
        if (taken % batches_a_kill != 0 || taken == batches)
            return;
        auto workers = loader.worker_processes();
        while (workers.empty())
            workers = loader.worker_processes();
        bench::spin(std::chrono::microseconds(dice.integer(0, 500)));
        ::kill(workers[dice.integer(std::size_t{0}, workers.size())], SIGKILL);
        ++kills;
    });

    std::map<std::uint64_t, int> times;
    for (const auto number : seen.numbers)
        ++times[number];
    std::size_t doubled = 0;
    for (const auto& [number, count] : times)
        doubled += static_cast<std::size_t>(count - 1);
    bench::report("lost_samples", static_cast<double>(epoch - times.size()), "samples");
    bench::report("doubled_samples", static_cast<double>(doubled), "samples");
    if (seen.numbers != expected.numbers || seen.bytes != expected.bytes)
        bench::fail("stoker: the streams differ");
    std::vector<double> each = stalls(seen, bench::percentile(expected.waits_ms, 50));
    bench::report("stall_p50_ms", bench::percentile(each, 50), "ms");
    bench::report("stall_max_ms", each.back(), "ms");
    bench::report("kills", kills, "kills");
}
