// Streams in random use: any shards, options, breaks and deaths, with a seed that is printed. No
// sample of an epoch may come twice, and none may be missing from one that ended without an error.

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <set>
#include <stdexcept>
#include <vector>

#include <stoker/stoker.hpp>
#include "support/catch.hpp"
#include "support/leaks.hpp"

using namespace stoker::test_support;

namespace {

struct record {
    std::int64_t value;  ///< 1000 · shard + number
    std::uint64_t position;
};

/// Now and then a sample fails or ends its worker, another time not.
struct moody_shards {
    std::vector<std::uint64_t> sizes;
    bool moody = false;

    struct reader {
        std::uint64_t shard;
        std::uint64_t size;
        std::uint64_t next_number;
        bool moody;
        bool ended = false;

        std::optional<record> next(stoker::context& c) {
            if (ended)
                throw std::logic_error("asked again after the end");
            ended = next_number == size;
            if (ended)
                return std::nullopt;
            const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
            const auto mood = moody ? stoker::random(static_cast<std::uint64_t>(now))() % 3000 : 5;
            if (mood == 0)
                ::_exit(5);
            if (mood == 1) {
                ++next_number;
                throw std::runtime_error("a bad sample");
            }
            return record{static_cast<std::int64_t>(1000 * shard + next_number++), c.position()};
        }
        std::uint64_t position() const { return next_number; }
    };
    std::size_t shard_count() const { return sizes.size(); }
    reader open(std::size_t shard, std::uint64_t position) const {
        return {shard, sizes[shard], position, moody};
    }
    std::vector<std::int64_t> all() const {
        std::vector<std::int64_t> values;
        for (std::size_t shard = 0; shard < sizes.size(); ++shard) {
            for (std::uint64_t i = 0; i < sizes[shard]; ++i)
                values.push_back(static_cast<std::int64_t>(1000 * shard + i));
        }
        return values;
    }
};

struct history {
    stoker::random dice;
    moody_shards stream{};
    int whole = 0;
    int failed = 0;

    void run() {
        stream.sizes.resize(dice.integer(std::size_t{0}, std::size_t{150}));
        for (auto& size : stream.sizes)
            size = dice.coin(0.2) ? 0 : dice.integer(std::uint64_t{0}, std::uint64_t{30});
        stoker::loader_options options{};
        options.batch_size = dice.integer(1, 12);
        options.shuffle = dice.coin();
        options.num_workers = dice.integer(0, 6);
        options.prefetch_factor = dice.integer(1, 5);
        options.persistent_workers = dice.coin();
        options.in_order = dice.coin();
        options.seed = dice();
        options.max_restarts = 1000;
        stream.moody = options.num_workers > 0 && dice.coin();  // else it would end this process
        stoker::loader loader{stream, options};
        for (int epoch = 0; epoch < 4; ++epoch) {
            if (!read_epoch(loader, dice.coin() ? dice.integer(0, 40) : 1 << 30))
                loader.restart();
        }
    }

    /// Takes so many batches and errors at most; whether the epoch has ended.
    template <class Loader>
    bool read_epoch(Loader& loader, int most) {
        std::vector<std::int64_t> values;
        std::set<std::uint64_t> positions;
        bool ended = false;
        int errors = 0;
        for (int i = 0; i < most && !ended; ++i) {
            try {
                if (stream.moody && dice.coin(0.005))
                    kill_one(loader);
                auto batch = loader.next_blocking();
                ended = !batch;
                if (ended)
                    break;
                const auto [value, position] = batch.columns();
                values.insert(values.end(), value.begin(), value.end());
                for (const auto each : position)
                    REQUIRE(positions.insert(each).second);
            } catch (const stoker::error& e) {
                CAPTURE(e.what());
                const bool expected = e.code() == stoker::errc::sample_failed ||
                                      e.code() == stoker::errc::worker_died;
                REQUIRE(expected);
                ++errors;
            }
        }
        failed += errors;
        std::sort(values.begin(), values.end());
        REQUIRE(std::adjacent_find(values.begin(), values.end()) == values.end());
        if (ended && errors == 0) {
            REQUIRE(values == stream.all());
            ++whole;
        }
        return ended;
    }

    template <class Loader>
    void kill_one(Loader& loader) {
        const auto processes = loader.worker_processes();
        if (!processes.empty())
            ::kill(processes[dice() % processes.size()], SIGKILL);
    }
};

}  // namespace

TEST_CASE("streams lose and double nothing, whatever happens to them", "[soak]") {
    const char* seconds = std::getenv("STOKER_SOAK_SECONDS");
    const char* first = std::getenv("STOKER_SOAK_SEED");
    const auto end = std::chrono::steady_clock::now() +
                     std::chrono::seconds(seconds != nullptr ? std::atol(seconds) : 20);
    auto seed = first != nullptr ? std::strtoull(first, nullptr, 10)
                                 : static_cast<unsigned long long>(
                                       std::chrono::system_clock::now().time_since_epoch().count());
    int whole = 0, failed = 0, histories = 0;
    for (; std::chrono::steady_clock::now() < end; ++seed, ++histories) {
        CAPTURE(seed);
        history one{.dice = stoker::random(seed)};
        one.run();
        whole += one.whole;
        failed += one.failed;
    }
    WARN(histories << " histories, " << whole << " whole epochs, " << failed << " errors");
    CHECK(whole > 0);
    CHECK(shared_memory_entries(::getpid()).empty());
    CHECK(holds_within(std::chrono::seconds(5), [] { return descendants().empty(); }));
}
