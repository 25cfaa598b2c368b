// What goes wrong in streams, through real workers: which samples it costs, and what goes on.

#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "loader/stream_datasets.hpp"
#include "support/catch.hpp"
#include "support/leaks.hpp"

using namespace stoker;
using namespace stoker::test_loader;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using test_support::holds_within;

TEST_CASE("A bad sample costs its batch, with its text and place, in any process", "[loader]") {
    std::optional<outcomes> first;
    for (const int workers : {0, 1, 3}) {
        trying_shards stream;
        stream.sizes = {7, 7};
        stream.what = [](std::uint64_t shard, std::uint64_t number) {
            return shard == 1 && number == 4 ? std::string("record 4 is damaged") : std::string();
        };
        loader loader{stream, {.batch_size = 3, .num_workers = workers}};
        outcomes all;
        for (bool ended = false; !ended;) {
            try {
                auto batch = loader.next_blocking();
                ended = !batch;
                if (ended)
                    break;
                const auto values = batch[&record::value];
                all.delivered.values.emplace_back(values.begin(), values.end());
            } catch (const error& e) {
                CHECK(e.code() == errc::sample_failed);
                CHECK(e.type() == "std::range_error");
                CHECK_THAT(e.remedy(), ContainsSubstring("shard 1"));
                CHECK(e.sample() == 10U);  // (round 1 · 2 lanes + lane 1) · 3 + 1
                CHECK((e.worker() >= 0) == (workers > 0));
                all.errors.push_back(e.text());
            }
        }
        CHECK(all.errors == std::vector<std::string>{"record 4 is damaged"});
        CHECK(all.delivered.values ==
              std::vector<std::vector<std::int64_t>>{
                  {0, 1, 2}, {1000, 1001, 1002}, {3, 4, 5}, {6, 1005, 1006}});
    }
}

TEST_CASE("A shard that cannot be opened is one error, and all others are read", "[loader]") {
    for (const int workers : {0, 2}) {
        trying_shards stream;
        stream.sizes.assign(130, 2);
        stream.refuses = true;
        loader loader{stream, {.batch_size = 4, .num_workers = workers}};
        const outcomes all = read_on(loader);
        REQUIRE(all.errors.size() == 1);
        CHECK_THAT(all.errors[0],
                   ContainsSubstring("opening shard 1, position 0 of the stream: no such shard"));
        shards others{stream.sizes};
        others.sizes[1] = 0;
        CHECK(all.delivered.sorted() == all_values(others));
    }
}

TEST_CASE("A stream whose open() throws says so, and every epoch ends", "[loader]") {
    struct shut : shards {
        using shards::open;
        void open() { throw std::runtime_error("no connection"); }
    };
    for (const int workers : {0, 2}) {
        loader loader{shut{{{5, 5, 5}}}, {.num_workers = workers}};
        for (int epoch = 0; epoch < 2; ++epoch) {
            int errors = 0;
            for (bool ended = false; !ended;) {
                try {
                    ended = !loader.next_blocking();
                } catch (const error& e) {
                    CHECK(e.code() == errc::worker_start_failed);
                    CHECK(e.text() == "no connection");
                    ++errors;
                }
            }
            CHECK(errors == 3);  // one for each lane
        }
    }
}

TEST_CASE("A stream that gives fewer samples when read again is told", "[loader]") {
    struct forgetful : shards {
        reader open(std::size_t shard, std::uint64_t position) const {
            auto made = shards::open(shard, position);
            if (position > 0)
                made.size = position + 1;
            return made;
        }
    };
    for (const int workers : {0, 2}) {
        loader loader{forgetful{{{6, 6}}}, {.batch_size = 4, .num_workers = workers}};
        CHECK(loader.next_blocking());
        CHECK(loader.next_blocking());
        try {
            loader.next_blocking();
            FAIL("no error");
        } catch (const error& e) {
            CHECK(e.code() == errc::invalid_dataset);
            CHECK_THAT(e.text(), ContainsSubstring("shard 0 of the stream gave 2 samples"));
        }
        CHECK_FALSE(loader.next_blocking());
    }
}

TEST_CASE("A worker that dies idle is replaced, and its lanes go on where they were", "[loader]") {
    const shards stream{{100, 90, 80}};
    loader undisturbed{stream, {.batch_size = 4}};
    const delivery expected = read_on(undisturbed).delivered;
    loader loader{stream, {.batch_size = 4, .num_workers = 2, .prefetch_factor = 2}};
    delivery found;
    for (int count = 0;; ++count) {
        if (count == 10 || count == 25) {
            std::this_thread::sleep_for(200ms);  // all that was asked for is done
            const auto workers = loader.worker_processes();
            REQUIRE(workers.size() == 2);
            const pid_t victim = workers[static_cast<std::size_t>(count % 2)];
            ::kill(victim, SIGKILL);
            REQUIRE(holds_within(5s, [&] {
                const auto now = loader.worker_processes();
                return now.size() == 2 && std::find(now.begin(), now.end(), victim) == now.end();
            }));
        }
        auto batch = loader.next_blocking();
        if (!batch)
            break;
        const auto values = batch[&record::value];
        found.values.emplace_back(values.begin(), values.end());
    }
    CHECK(found == expected);
}

TEST_CASE("What a worker had in hand when it died is read by its successor", "[loader]") {
    shared_number deaths;
    static std::atomic<int>* died = nullptr;
    died = deaths.get();
    trying_shards stream;
    stream.sizes = {9, 8, 7, 0, 6};
    loader undisturbed{stream, {.batch_size = 2}};
    const delivery expected = read_on(undisturbed).delivered;
    stream.delay = [](std::uint64_t shard, std::uint64_t number) {
        const int so_far = died->load();
        const bool now = (so_far == 0 && shard == 1 && number == 3) ||
                         (so_far == 1 && shard == 4 && number == 5);
        int seen = so_far;
        if (now && died->compare_exchange_strong(seen, so_far + 1))
            ::raise(SIGKILL);
        return 0;
    };
    for (const bool in_order : {true, false}) {
        died->store(0);
        loader loader{
            stream,
            {.batch_size = 2, .num_workers = 3, .prefetch_factor = 3, .in_order = in_order}};
        const outcomes found = read_on(loader);
        CHECK(found.errors.empty());
        CHECK(died->load() == 2);
        CHECK(found.delivered.sorted() == expected.sorted());
        if (in_order)
            CHECK(found.delivered == expected);
        CHECK(read_on(loader).delivered.sorted() == expected.sorted());
    }
}

TEST_CASE("A sample that always kills is named, and its shard is left", "[loader]") {
    trying_shards stream;
    stream.sizes.assign(70, 6);
    stream.delay = [](std::uint64_t shard, std::uint64_t number) {
        if (shard == 1 && number == 3)
            ::raise(SIGKILL);
        return 0;
    };
    loader loader{stream, {.batch_size = 2, .num_workers = 2}};
    const outcomes found = read_on(loader);
    REQUIRE(found.errors.size() == 1);
    CHECK_THAT(found.errors[0], ContainsSubstring("killed its worker twice"));
    CHECK_THAT(found.errors[0],
               ContainsSubstring("the rest of shard 1 of the stream is left out in this epoch"));
    auto expected = all_values(stream);
    std::erase_if(expected, [](std::int64_t value) { return value >= 1002 && value < 1006; });
    CHECK(found.delivered.sorted() == expected);
}

TEST_CASE("A sample that takes too long costs its batch and the rest of its shard", "[loader]") {
    trying_shards stream;
    stream.sizes.assign(66, 4);
    stream.delay = [](std::uint64_t shard, std::uint64_t number) {
        return shard == 1 && number == 2 ? 60'000 : 0;
    };
    loader loader{stream, {.batch_size = 2, .num_workers = 2, .timeout = 500ms}};
    const outcomes found = read_on(loader);
    REQUIRE(found.errors.size() == 1);
    CHECK_THAT(found.errors[0], ContainsSubstring("the batch did not come within 0.5 s"));
    CHECK_THAT(found.errors[0], ContainsSubstring("the rest of shard 1 of the stream is left out"));
    auto expected = all_values(stream);
    std::erase_if(expected, [](std::int64_t value) { return value == 1002 || value == 1003; });
    CHECK(found.delivered.sorted() == expected);
}

TEST_CASE("Where workers are never replaced a death ends the epoch, and the next is whole",
          "[loader]") {
    shared_number deaths;
    static std::atomic<int>* died = nullptr;
    died = deaths.get();
    trying_shards stream;
    stream.sizes = {6, 6, 6};
    stream.delay = [](std::uint64_t shard, std::uint64_t number) {
        if (shard == 1 && number == 3 && died->exchange(1) == 0)
            ::raise(SIGKILL);
        return 0;
    };
    loader loader{stream, {.batch_size = 2, .num_workers = 3, .restart_workers = restart::never}};
    errc code{};
    try {
        while (loader.next_blocking()) {
        }
    } catch (const error& e) {
        code = e.code();
    }
    CHECK(code == errc::worker_died);
    CHECK(read_on(loader).delivered.sorted() == all_values(stream));
}
