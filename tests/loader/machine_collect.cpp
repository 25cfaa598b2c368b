#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "loader/loader_datasets.hpp"
#include "support/catch.hpp"
#include "support/leaks.hpp"
#include "support/run_child.hpp"

using namespace stoker;
using namespace stoker::test_loader;
using Catch::Matchers::ContainsSubstring;

namespace {

/// What the samples of one dataset tell from the processes that load them.
struct tally {
    std::atomic<int> begun{0};
    std::atomic<int> done{0};
    std::atomic<std::int64_t> highest{-1};  ///< index asked for
};

/// A tally in memory that this process and its workers share.
class shared_tally {
  public:
    shared_tally()
        : memory_(::mmap(nullptr, sizeof(tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                         -1, 0)) {
        REQUIRE(memory_ != MAP_FAILED);
        counts_ = new (memory_) tally;
    }
    ~shared_tally() { ::munmap(memory_, sizeof(tally)); }
    shared_tally(const shared_tally&) = delete;
    shared_tally& operator=(const shared_tally&) = delete;

    tally& operator*() const { return *counts_; }
    tally* operator->() const { return counts_; }

  private:
    void* memory_;
    tally* counts_ = nullptr;
};

/// Never throws, whatever index it is asked for; sample i takes `delay(i)` milliseconds.
struct counted_numbers {
    std::size_t count = 0;
    tally* counts = nullptr;
    int (*delay)(stoker::index) = nullptr;
    std::size_t size() const { return count; }
    number get(stoker::index i) const {
        ++counts->begun;
        const auto value = static_cast<std::int64_t>(i);
        auto highest = counts->highest.load();
        while (highest < value && !counts->highest.compare_exchange_weak(highest, value)) {
        }
        if (delay != nullptr)
            std::this_thread::sleep_for(std::chrono::milliseconds(delay(i)));
        ++counts->done;
        return {value, 0};
    }
};

/// The values of the next `count` batches, at most to the end of the epoch.
template <class Loader>
void take(Loader& loader, int count, std::vector<std::int64_t>& values) {
    for (int i = 0; i < count; ++i) {
        if (auto batch = loader.next_blocking()) {
            for (const auto value : batch[&number::value])
                values.push_back(value);
        }
    }
}

std::vector<std::int64_t> sorted(std::vector<std::int64_t> values) {
    std::sort(values.begin(), values.end());
    return values;
}

struct users_own {};

/// Ends with 0 when the loop, whose loader goes with it, threw the user's own and nothing else.
int sees_users_own(void (*loop)()) {
    try {
        loop();
    } catch (const users_own&) {
        return 0;
    }
    return 1;
}

}  // namespace

TEST_CASE("announced epochs end for good, endless ones never", "[loader]") {
    for (const int workers : {0, 3}) {
        loader announced{numbers{6}, {.batch_size = 4, .num_workers = workers, .epochs = 2}};
        CHECK(flatten(read_epoch(announced)) == count_to(6));
        CHECK(flatten(read_epoch(announced)) == count_to(6));
        for (int i = 0; i < 3; ++i)
            CHECK_FALSE(announced.next_blocking());
        for (const bool persistent : {true, false}) {
            loader without_end{numbers{3},
                               {.batch_size = 2,
                                .num_workers = workers,
                                .persistent_workers = persistent,
                                .epochs = endless}};
            for (std::uint64_t i = 0; i < 50; ++i) {
                auto batch = without_end.next_blocking();
                REQUIRE(batch);
                CHECK(batch.epoch() == i / 2);
                CHECK(batch.number() == i % 2);
            }
        }
    }
}

TEST_CASE("two full epochs have the full count with a deep prefetch", "[loader][B029]") {
    loader loader{numbers{40}, {.batch_size = 2, .num_workers = 2, .prefetch_factor = 4}};
    CHECK(read_epoch(loader).size() == 20);
    CHECK(read_epoch(loader).size() == 20);
}

TEST_CASE("leaving an epoch after any number of batches never hangs", "[loader][B026]") {
    constexpr std::size_t batches = 10;
    for (const bool persistent : {true, false}) {
        std::vector<std::chrono::duration<double>> closes;
        for (std::size_t round = 0; round < 200; ++round) {
            auto loader = std::make_unique<stoker::loader<numbers>>(
                numbers{2 * batches},
                loader_options{
                    .batch_size = 2, .num_workers = 4, .persistent_workers = persistent});
            for (std::size_t i = 0; i <= batches; ++i) {  // closed after another number each round
                const std::size_t leave_after = (round + i) % (batches + 1);
                std::size_t taken = 0;
                loader->restart();
                while (taken < leave_after) {
                    auto batch = loader->next_blocking();
                    REQUIRE(batch);
                    REQUIRE(batch.number() == taken);
                    REQUIRE(batch[&number::value](0) == static_cast<std::int64_t>(2 * taken));
                    ++taken;
                }
            }
            const auto start = std::chrono::steady_clock::now();
            loader.reset();
            closes.push_back(std::chrono::steady_clock::now() - start);
        }
        std::sort(closes.begin(), closes.end());
        CHECK(closes[closes.size() / 2] < std::chrono::seconds(1));
        CHECK(closes.back() < std::chrono::seconds(5));
    }
}

TEST_CASE("a second pass starts at the beginning of a new epoch", "[loader][B028]") {
    loader loader{numbers{10}, {.batch_size = 1, .num_workers = 2}};
    for (auto& batch : loader) {
        if (batch.number() == 4)
            break;
    }
    std::vector<std::int64_t> second;
    for (auto& batch : loader)
        second.push_back(batch[&number::value](0));
    CHECK(second == count_to(10));
}

TEST_CASE("restart goes on with the next epoch, or with any other", "[loader]") {
    for (const int workers : {0, 2}) {
        loader loader{numbers{12}, {.batch_size = 2, .num_workers = workers}};
        loader.restart();  // nothing was delivered: still epoch 0
        auto batch = loader.next_blocking();
        CHECK(batch.epoch() == 0);
        loader.restart();
        batch = loader.next_blocking();
        CHECK(batch.epoch() == 1);
        CHECK(batch.number() == 0);
        loader.restart(17);
        batch = loader.next_blocking();
        CHECK(batch.epoch() == 17);
        CHECK(batch.number() == 0);
        batch = {};
        CHECK(read_epoch(loader).size() == 5);
        CHECK(loader.next_blocking().epoch() == 18);
    }
}

TEST_CASE("an epoch left at once goes on where it was when nobody restarts it", "[loader]") {
    loader loader{numbers{10}, {.batch_size = 2, .num_workers = 12, .drop_last = true}};
    for (auto& batch : loader) {
        CHECK(batch.size() == 2);
        break;
    }
    CHECK(read_epoch(loader).size() == 4);
}

TEST_CASE("an exception of the user in the loop costs the loader nothing", "[loader][B008]") {
    loader loader{numbers{40}, {.batch_size = 2, .num_workers = 4}};
    CHECK_THROWS_AS(
        [&] {
            int count = 0;
            while (auto batch = loader.next_blocking()) {
                if (++count == 3)
                    throw users_own{};
            }
        }(),
        users_own);
    CHECK(read_epoch(loader).size() == 17);
}

TEST_CASE("an exception that takes the loader with it is the only one seen", "[loader][B008]") {
    const auto blocking = [] {
        loader loader{numbers{40}, {.batch_size = 2, .num_workers = 4}};
        for (auto& batch : loader) {
            if (batch.number() == 2)
                throw users_own{};
        }
    };
    const auto awaiting = [] {
        loader loader{numbers{40}, {.batch_size = 2, .num_workers = 4}};
        boost::asio::io_context io;
        const auto loop = [&]() -> boost::asio::awaitable<void> {
            while (auto batch = co_await loader.next()) {
                if (batch.number() == 2)
                    throw users_own{};
            }
        };
        boost::asio::co_spawn(io, loop, rethrow);
        io.run();
    };
    for (void (*loop)() : {+blocking, +awaiting}) {
        for (int round = 0; round < 5; ++round) {
            const auto outcome =
                test_support::run_child([loop](std::ostream&) { return sees_users_own(loop); });
            CHECK(outcome.succeeded());
            CHECK(outcome.text.empty());  // no report of workers that the loader itself has ended
        }
    }
    CHECK(test_support::holds_within(std::chrono::seconds(5),
                                     [] { return test_support::descendants().empty(); }));
}

TEST_CASE("loaders in turn do not disturb each other", "[loader][B030]") {
    loader train{numbers{24}, {.batch_size = 2, .shuffle = true, .num_workers = 4}};
    loader validate{numbers{12}, {.batch_size = 3, .num_workers = 4}};
    for (int round = 0; round < 10; ++round) {
        CHECK(sorted(flatten(read_epoch(train))) == count_to(24));
        CHECK(flatten(read_epoch(validate)) == count_to(12));
    }
    std::vector<std::int64_t> trained, validated, others;
    take(train, 3, trained);
    take(validate, 1, validated);
    {
        loader third{numbers{9}, {.batch_size = 2, .num_workers = 4}};
        take(third, 2, others);
        take(train, 3, trained);
        take(validate, 1, validated);
        take(third, 1, others);
        CHECK(others == count_to(6));
    }  // closed within its epoch, and so are theirs
    take(train, 7, trained);
    take(validate, 3, validated);
    CHECK(sorted(trained) == count_to(24));
    CHECK(validated == count_to(12));
    { const auto closed = std::move(train); }
    CHECK(flatten(read_epoch(validate)) == count_to(12));
}

TEST_CASE("a held batch never changes, and holding all is an error in time", "[loader][B024]") {
    for (const int workers : {0, 1}) {
        loader loader{numbers{40},
                      {.batch_size = 2,
                       .num_workers = workers,
                       .timeout = std::chrono::milliseconds(300),
                       .prefetch_factor = 1}};
        const auto values = [](auto& batch) {
            const auto view = batch[&number::value];
            return std::vector<std::int64_t>(view.begin(), view.end());
        };
        auto held = loader.next_blocking();
        auto contents = values(held);
        for (int k = 0; k < 5; ++k) {
            for (int i = 0; i < 2; ++i) {  // k + 1 and k + 2
                auto later = loader.next_blocking();
                CHECK(values(later) != contents);
                CHECK(values(held) == contents);
            }
            held = {};
            held = loader.next_blocking();
            contents = values(held);
        }

        std::vector<decltype(held)> hoard;
        const auto start = std::chrono::steady_clock::now();
        try {
            while (hoard.size() < 40)
                hoard.push_back(loader.next_blocking());
        } catch (const error& e) {
            CHECK(e.code() == errc::no_free_slot);
            CHECK_THAT(e.what(), ContainsSubstring("batches are held"));
        }
        CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(10));
        REQUIRE_FALSE(hoard.empty());
        REQUIRE(hoard.size() < 40);
        const auto reached = hoard.back().number();
        hoard.clear();
        auto next = loader.next_blocking();
        CHECK(next.number() == reached + 1);
        CHECK(values(held) == contents);
    }
}

TEST_CASE("batches outlive their loader", "[loader]") {
    batch<number> kept;
    {
        loader loader{numbers{8}, {.batch_size = 4, .num_workers = 2}};
        kept = loader.next_blocking();
    }
    CHECK(kept[&number::value](3) == 3);
}

TEST_CASE("an index out of range is one error, and the next batch follows", "[loader][B065]") {
    for (const int workers : {0, 2}) {
        loader loader{numbers{5},
                      {.batch_size = 2, .num_workers = workers},
                      sampler{std::vector<std::int64_t>{0, 1, 2, -1, 3, 3, 5, 0}}};
        auto first = loader.next_blocking();
        CHECK(first[&number::value](1) == 1);
        CHECK_THROWS_WITH(loader.next_blocking(),
                          ContainsSubstring("index -1") && ContainsSubstring("5 samples"));
        auto doubled = loader.next_blocking();
        CHECK(doubled[&number::value](0) == 3);
        CHECK(doubled[&number::value](1) == 3);
        CHECK_THROWS_WITH(loader.next_blocking(), ContainsSubstring("index 5"));
        CHECK_FALSE(loader.next_blocking());
    }
}

TEST_CASE("an error of get costs its batch only, and is not the end of data", "[loader][B076]") {
    for (const int workers : {0, 2}) {
        loader loader{failing_numbers{8, 3}, {.batch_size = 2, .num_workers = workers}};
        for (int epoch = 0; epoch < 2; ++epoch) {
            std::vector<std::int64_t> seen;
            int errors = 0;
            for (;;) {
                try {
                    auto batch = loader.next_blocking();
                    if (!batch)
                        break;
                    for (const auto value : batch[&number::value])
                        seen.push_back(value);
                } catch (const error& e) {
                    ++errors;
                    CHECK(e.code() == errc::sample_failed);
                    CHECK(e.text() == "row 3 is damaged");
                    CHECK(e.type() == "std::out_of_range");
                    CHECK(e.sample() == 3);
                    CHECK((e.worker() >= 0) == (workers > 0));
                    CHECK((e.pid() > 0) == (workers > 0));
                }
            }
            CHECK(errors == 1);
            CHECK(seen == std::vector<std::int64_t>{0, 1, 4, 5, 6, 7});
        }
    }
}

TEST_CASE("a slow sample holds the others up at the prefetch limit only", "[loader][B032]") {
    const shared_tally counts;
    const counted_numbers data{40, &*counts, [](stoker::index i) { return i == 0 ? 2000 : 1; }};
    loader loader{data, {.batch_size = 1, .num_workers = 4, .prefetch_factor = 2}};
    const auto slab = loader.memory().slab_bytes;
    // Of the eight tasks handed out one waits behind the slow one, at the same worker.
    CHECK(test_support::holds_within(std::chrono::seconds(10),
                                     [&] { return counts->done.load() >= 6; }));
    for (int look = 0; look < 30; ++look) {
        CHECK_FALSE(loader.ready());
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    CHECK(counts->highest.load() <= 7);  // num_workers × prefetch_factor, and not one more
    CHECK(flatten(read_epoch(loader)) == count_to(40));
    CHECK(loader.memory().slab_bytes == slab);
}

TEST_CASE("out of order a slow sample's batch is passed by the others", "[loader][B032]") {
    const slow_numbers data{40, [](stoker::index i) { return i == 0 ? 2000 : 1; }};
    loader loader{data,
                  {.batch_size = 1, .num_workers = 4, .prefetch_factor = 2, .in_order = false}};
    const auto order = flatten(read_epoch(loader));
    CHECK(sorted(order) == count_to(40));
    CHECK(std::find(order.begin(), order.end(), 0) - order.begin() > 8);
    CHECK(loader.memory().slots == 4 * 2 + 2);
}

TEST_CASE("an epoch ends at size(), whatever get would give beyond it", "[loader][B076]") {
    for (const int workers : {0, 2}) {
        for (const int batch_size : {1, 2, 5}) {
            const shared_tally counts;
            {
                loader loader{counted_numbers{5, &*counts},
                              {.batch_size = batch_size, .num_workers = workers}};
                CHECK(flatten(read_epoch(loader)) == count_to(5));
            }
            CHECK(counts->begun.load() == 5);
            CHECK(counts->highest.load() == 4);
        }
    }
}

TEST_CASE("workers never run further ahead than num_workers × prefetch_factor", "[loader]") {
    loader loader{numbers{100}, {.batch_size = 1, .num_workers = 2, .prefetch_factor = 3}};
    std::size_t ready = 0;
    auto first = loader.next_blocking();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    std::vector<batch<number>> all;
    while (auto more = loader.try_next()) {
        if (!*more)
            break;
        all.push_back(std::move(*more));
        if (++ready > 20)
            break;
    }
    CHECK(ready <= 2 * 3 + 1);  // every slot but the one held
    CHECK(loader.memory().slots == 2 * 3 + 2);
}

TEST_CASE("ready() becomes true at the border of an epoch and behind it", "[loader]") {
    for (const int workers : {0, 2}) {
        loader source{numbers{4}, {.batch_size = 2, .num_workers = workers}};
        int batches = 0, ends = 0;
        const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (ends < 3 && std::chrono::steady_clock::now() < limit) {
            if (!source.ready())
                continue;
            auto batch = source.try_next();
            REQUIRE(batch);
            *batch ? ++batches : ++ends;
        }
        CHECK(batches == 6);
        CHECK(ends == 3);
    }
}

TEST_CASE("out of order a slow sample is overtaken by more than the prefetched ones",
          "[loader][B032]") {
    loader source{slow_numbers{200, [](stoker::index i) { return i == 0 ? 1500 : 0; }},
                  {.batch_size = 1, .num_workers = 3, .prefetch_factor = 2, .in_order = false}};
    const auto order = flatten(read_epoch(source));
    REQUIRE(order.size() == 200);
    CHECK(std::find(order.begin(), order.end(), 0) - order.begin() > 50);
}

TEST_CASE("a false batch is empty", "[loader]") {
    const batch<number> none;
    CHECK_FALSE(none);
    CHECK(none.size() == 0);
    CHECK(none.indices().empty());
}
