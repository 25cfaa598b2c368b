// Streams through real workers. The order itself is compared with a model in stream_order.cpp.

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "loader/stream_datasets.hpp"
#include "support/catch.hpp"
#include "support/leaks.hpp"

using namespace stoker;
using namespace stoker::test_loader;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using test_support::holds_within;

namespace {

/// Reads to the end, and checks what every batch must be.
template <class Loader>
delivery read_stream(Loader& loader, std::uint64_t epoch = 0) {
    delivery found;
    std::set<std::uint64_t> positions;
    while (auto batch = loader.next_blocking()) {
        CHECK(batch.epoch() == epoch);
        CHECK(batch.number() == found.values.size());
        const auto [value, draw, position, own_epoch] = batch.columns();
        CHECK(batch.indices().size() == batch.size());
        CHECK(std::equal(position.begin(), position.end(), batch.indices().begin()));
        CHECK(std::all_of(own_epoch.begin(), own_epoch.end(),
                          [&](std::uint64_t each) { return each == epoch; }));
        found.values.emplace_back(value.begin(), value.end());
        found.draws.insert(found.draws.end(), draw.begin(), draw.end());
        positions.insert(position.begin(), position.end());
    }
    CHECK(positions.size() == found.draws.size());
    return found;
}

}  // namespace

TEST_CASE("A stream's batches are the same for any number of workers", "[loader]") {
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
        stoker::random dice(seed);
        const shards stream = random_shards(dice);
        const int batch_size = dice.integer(1, 10);
        const bool shuffle = dice.coin();
        CAPTURE(seed, batch_size, shuffle);
        std::optional<delivery> first;
        for (const int workers : {0, 1, 2, 4, 7}) {
            CAPTURE(workers);
            const int prefetch = dice.integer(1, 5);
            loader loader{stream,
                          {.batch_size = batch_size,
                           .shuffle = shuffle,
                           .num_workers = workers,
                           .prefetch_factor = prefetch,
                           .seed = 5}};
            CHECK_FALSE(loader.length());
            const delivery found = read_stream(loader);
            CHECK(found.sorted() == all_values(stream));
            if (!first)
                first = found;
            CHECK(found == *first);
            const delivery again = read_stream(loader, 1);
            CHECK(again.sorted() == all_values(stream));
            CHECK((again.values == first->values || shuffle));
        }
    }
}

TEST_CASE("Twenty runs of two epochs are alike [B036]", "[loader]") {
    const shards stream{{20, 3, 0, 17, 40, 9, 9, 30, 1}};
    std::optional<std::vector<delivery>> first;
    for (int run = 0; run < 20; ++run) {
        loader loader{stream, {.batch_size = 4, .shuffle = true, .num_workers = 4, .seed = 3}};
        std::vector<delivery> both{read_stream(loader, 0)};
        both.push_back(read_stream(loader, 1));
        CHECK(both[0] != both[1]);
        if (!first)
            first = both;
        CHECK(both == *first);
    }
}

TEST_CASE("A whole stream loses one short batch at most, and length says so [B060]", "[loader]") {
    for (const int workers : {0, 3, 10}) {
        counted_shards hundreds;
        hundreds.sizes.assign(10, 100);
        loader tens{hundreds, {.batch_size = 128, .num_workers = workers, .drop_last = true}};
        CHECK(tens.length() == 7);
        CHECK(tens.size() == 1000);
        CHECK(read_stream(tens).batch_sizes() == std::vector<std::size_t>(7, 128));

        counted_shards few;
        few.sizes = {20, 20, 6};
        loader five{few, {.batch_size = 8, .num_workers = workers, .drop_last = true}};
        CHECK(five.length() == 5);
        CHECK(read_stream(five).batch_sizes() == std::vector<std::size_t>(5, 8));
        loader six{few, {.batch_size = 8, .num_workers = workers}};
        CHECK(six.length() == 6);
        CHECK(read_stream(six).batch_sizes() == std::vector<std::size_t>{8, 8, 8, 8, 8, 6});
    }
}

TEST_CASE("Workers beyond the shards are idle, and nothing is missing [B061]", "[loader]") {
    const shards stream{{23, 50}};
    loader loader{stream, {.batch_size = 4, .num_workers = 8}};
    for (std::uint64_t epoch = 0; epoch < 3; ++epoch)
        CHECK(read_stream(loader, epoch).sorted() == all_values(stream));
}

TEST_CASE("A stream that is begun and left is whole when begun again [B025] [B028]", "[loader]") {
    const shards stream{{10}};
    for (const int workers : {0, 1, 4}) {
        for (const bool persistent : {true, false}) {
            loader loader{
                stream,
                {.num_workers = workers, .prefetch_factor = 4, .persistent_workers = persistent}};
            CAPTURE(workers, persistent);
            for (int start = 0; start < 2; ++start) {
                for (auto& batch : loader) {
                    CHECK(batch[&record::value](0) == 0);
                    break;
                }
            }
            std::vector<std::int64_t> values;
            for (auto& batch : loader)
                values.push_back(batch[&record::value](0));
            CHECK(values == all_values(stream));
            int taken = 0;
            for ([[maybe_unused]] auto& batch : loader) {
                if (++taken == 4)
                    break;
            }
            values.clear();
            for (auto& batch : loader)
                values.push_back(batch[&record::value](0));
            CHECK(values == all_values(stream));
        }
    }
}

TEST_CASE("A stream can be left after any batch [B026]", "[loader]") {
    const shards stream{{9, 0, 14, 3, 8}};
    for (const bool persistent : {true, false}) {
        loader loader{stream,
                      {.batch_size = 3, .num_workers = 4, .persistent_workers = persistent}};
        for (int kept = 0; kept <= 12; ++kept) {
            CAPTURE(kept, persistent);
            for (int i = 0; i < kept; ++i) {
                if (!loader.next_blocking())
                    break;
            }
            loader.restart();
        }
        std::vector<std::int64_t> values;
        for (auto& batch : loader) {
            const auto more = batch[&record::value];
            values.insert(values.end(), more.begin(), more.end());
        }
        std::sort(values.begin(), values.end());
        CHECK(values == all_values(stream));
    }
}

TEST_CASE("Every epoch is whole with many batches on their way [B029] [B033]", "[loader]") {
    const shards stream{{40, 1, 0, 30}};
    for (const int workers : {0, 1, 4}) {
        for (const bool in_order : {true, false}) {
            loader loader{stream,
                          {.batch_size = 3,
                           .num_workers = workers,
                           .prefetch_factor = 4,
                           .in_order = in_order}};
            for (std::uint64_t epoch = 0; epoch < 3; ++epoch)
                CHECK(read_stream(loader, epoch).sorted() == all_values(stream));
        }
    }
}

TEST_CASE("One slow shard holds up neither order nor the others [B032]", "[loader]") {
    const shared_number made[4];  // of each shard
    static std::array<std::atomic<int>*, 4> counts;
    std::transform(std::begin(made), std::end(made), counts.begin(),
                   [](const shared_number& each) { return each.get(); });
    trying_shards stream;
    stream.sizes.assign(4, 8);
    stream.delay = [](std::uint64_t shard, std::uint64_t number) {
        if (shard == 0 && number == 0 && counts[0]->load() == 0) {
            // Until the others have made all that they may: two batches of two each.
            for (int look = 0; look < 10'000; ++look) {
                if (counts[1]->load() + counts[2]->load() + counts[3]->load() >= 12)
                    break;
                std::this_thread::sleep_for(1ms);
            }
        }
        ++*counts[shard];
        return 0;
    };
    loader ordered{stream, {.batch_size = 2, .num_workers = 4}};
    const auto front = ordered.next_blocking();
    CHECK(front.indices()[0] == 0);
    for (std::size_t shard = 1; shard < 4; ++shard)
        CHECK(counts[shard]->load() >= 4);
    stream.delay = [](std::uint64_t shard, std::uint64_t number) {
        return shard == 0 && number == 0 ? 400 : 1;
    };
    loader any{stream, {.batch_size = 2, .num_workers = 4, .in_order = false}};
    const auto first = any.next_blocking();
    CHECK(first[&record::value](0) != 0);
    CHECK(first.number() == 0);
}

TEST_CASE("Epochs of a stream begin when they are asked for, announced or not", "[loader]") {
    for (const int epochs : {0, 3}) {
        shared_number opened;
        trying_shards stream;
        stream.sizes = {5, 5};
        stream.opened = opened.get();
        loader loader{stream, {.batch_size = 5, .num_workers = 2, .epochs = epochs}};
        CHECK(read_on(loader).delivered.values.size() == 2);
        std::this_thread::sleep_for(50ms);
        CHECK(opened.get()->load() == 2);
        CHECK(read_on(loader).delivered.values.size() == 2);
        CHECK(opened.get()->load() == 4);
    }
}

TEST_CASE("Endless epochs of a stream follow one another, each with its short batch", "[loader]") {
    for (const int workers : {0, 3}) {
        for (const bool in_order : {true, false}) {
            const shards stream{{4, 3}};
            loader loader{
                stream,
                {.batch_size = 3, .num_workers = workers, .in_order = in_order, .epochs = endless}};
            for (std::uint64_t epoch = 0; epoch < 4; ++epoch) {
                std::vector<std::int64_t> values;
                for (std::uint64_t number = 0; number < 3; ++number) {
                    const auto batch = loader.next_blocking();
                    REQUIRE(batch);
                    CHECK(batch.epoch() == epoch);
                    CHECK(batch.number() == number);
                    CHECK((batch.size() == 3 || (batch.size() == 1 && number == 2)));
                    const auto more = batch[&record::value];
                    values.insert(values.end(), more.begin(), more.end());
                }
                std::sort(values.begin(), values.end());
                CHECK(values == all_values(stream));
            }
        }
    }
    loader empty{shards{{0, 0}}, {.num_workers = 1, .epochs = endless}};
    for (int i = 0; i < 3; ++i)
        CHECK_THROWS_WITH(empty.next_blocking(), ContainsSubstring("epochs is endless"));
}

TEST_CASE("A stream without samples or without shards has epochs without batches", "[loader]") {
    for (const int workers : {0, 2}) {
        for (const auto& sizes : {std::vector<std::uint64_t>{}, std::vector<std::uint64_t>(3, 0)}) {
            loader loader{shards{sizes}, {.num_workers = workers}};
            CHECK_FALSE(loader.next_blocking());
            CHECK_FALSE(loader.next_blocking());
        }
    }
}

TEST_CASE("Few readers are open at once, and none of an epoch that was left", "[loader]") {
    struct watched : shards {
        std::atomic<int>* open_now;
        std::atomic<int>* most;
        struct reader : shards::reader {
            std::atomic<int>* open_now = nullptr;
            reader(shards::reader base, std::atomic<int>* counter, std::atomic<int>* most)
                : shards::reader(base), open_now(counter) {
                *most = std::max(most->load(), ++*open_now);
            }
            reader(const reader&) = delete;
            reader& operator=(const reader&) = delete;
            ~reader() { --*open_now; }
        };
        reader open(std::size_t shard, std::uint64_t position) const {
            return reader(shards::open(shard, position), open_now, most);
        }
    };
    for (const int workers : {0, 2}) {
        shared_number open_now;
        shared_number most;
        const shards base{std::vector<std::uint64_t>(200, 7)};
        loader loader{watched{base, open_now.get(), most.get()},
                      {.batch_size = 4, .num_workers = workers}};
        for (int epoch = 0; epoch < 6; ++epoch) {
            int taken = 0;
            for ([[maybe_unused]] auto& batch : loader) {
                if (++taken == 100 && epoch % 2 == 0)
                    break;
            }
        }
        CHECK(most.get()->load() <= 65);  // a lane each, and one that is read again
        CHECK(holds_within(5s, [&] { return open_now.get()->load() == 0; }));
    }
}

TEST_CASE("Samples of any shape can be streamed", "[loader]") {
    struct sentence {
        tensor<std::int32_t, dynamic> words;
    };
    struct sentences {
        struct reader {
            std::uint64_t at;
            std::uint64_t shard;
            std::optional<sentence> next() {
                if (at == 5)
                    return std::nullopt;
                ++at;
                sentence made{tensor<std::int32_t, dynamic>(shard == 2 && at == 5 ? 4 : 3)};
                made.words(0) = static_cast<std::int32_t>(100 * shard + at);
                return made;
            }
            std::uint64_t position() const { return at; }
        };
        std::size_t shard_count() const { return 3; }
        std::unique_ptr<reader> open(std::size_t shard, std::uint64_t position) const {
            return std::make_unique<reader>(reader{position, shard});
        }
    };
    for (const int workers : {0, 2}) {
        loader loader{std::make_shared<sentences>(), {.batch_size = 4, .num_workers = workers}};
        for (const int shard : {0, 1, 2}) {
            const auto batch = loader.next_blocking();
            const auto words = batch[&sentence::words];
            CHECK(words.extent(0) == 4);
            CHECK(words.extent(1) == 3);
            CHECK(words(3, 0) == 100 * shard + 4);
        }
        CHECK_THROWS_WITH(loader.next_blocking(), ContainsSubstring("words"));  // 3, 3 and 4
        CHECK_FALSE(loader.next_blocking());
    }
}

TEST_CASE("A fork server can build a stream", "[loader]") {
    fork_server forks;
    loader counted{forks.dataset(
                       [](std::vector<std::uint64_t> sizes) {
                           counted_shards made;
                           made.sizes = sizes;
                           return made;
                       },
                       std::vector<std::uint64_t>{7, 9, 2}),
                   {.batch_size = 4, .num_workers = 2}};
    CHECK(counted.length() == 5);
    CHECK(counted.size() == 18);
    CHECK(read_stream(counted).sorted() == all_values(shards{{7, 9, 2}}));
    loader uncounted{forks.dataset(
                         [](std::uint64_t size) {
                             return shards{{size, size}};
                         },
                         std::uint64_t{6}),
                     {.batch_size = 4, .num_workers = 3}};
    CHECK_FALSE(uncounted.length());
    CHECK(read_stream(uncounted).sorted() == all_values(shards{{6, 6}}));
}

TEST_CASE("drop_last that leaves no batch of a counted stream is refused", "[loader]") {
    counted_shards few;
    few.sizes = {3, 3};
    CHECK_THROWS_WITH((loader{few, {.batch_size = 7, .drop_last = true}}),
                      ContainsSubstring("drop_last leaves no batch at all") &&
                          ContainsSubstring("the epoch has 6 samples"));
    CHECK_THROWS_WITH((loader{std::shared_ptr<shards>(), {}}), ContainsSubstring("null"));
}

TEST_CASE("drop_last that leaves no batch of a stream is told by its end", "[loader][B070]") {
    for (const int workers : {0, 2}) {
        for (const int epochs : {0, 3, endless}) {
            CAPTURE(workers, epochs);
            loader source{
                shards{{2, 1}},
                {.batch_size = 7, .num_workers = workers, .drop_last = true, .epochs = epochs}};
            for (int epoch = 0; epoch < 3; ++epoch) {
                CHECK_THROWS_WITH(source.next_blocking(),
                                  ContainsSubstring("drop_last leaves no batch") &&
                                      ContainsSubstring("the epoch has 3 samples"));
                if (epochs != endless)
                    CHECK_FALSE(source.next_blocking());
            }
        }
    }
}
