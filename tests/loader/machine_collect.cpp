#include <signal.h>
#include <sys/time.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include <range/v3/view/chunk.hpp>
#include <range/v3/view/filter.hpp>
#include <range/v3/view/iota.hpp>

#include "loader/loader_datasets.hpp"
#include "support/catch.hpp"

using namespace stoker;
using namespace stoker::test_loader;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("announced epochs end for good, endless ones never", "[loader]") {
    for (const int workers : {0, 3}) {
        loader announced{numbers{6}, {.batch_size = 4, .num_workers = workers, .epochs = 2}};
        CHECK(flatten(read_epoch(announced)) == count_to(6));
        CHECK(flatten(read_epoch(announced)) == count_to(6));
        for (int i = 0; i < 3; ++i)
            CHECK_FALSE(announced.next_blocking());
        loader without_end{numbers{3},
                           {.batch_size = 2, .num_workers = workers, .epochs = endless}};
        for (std::uint64_t i = 0; i < 50; ++i) {
            auto batch = without_end.next_blocking();
            REQUIRE(batch);
            CHECK(batch.epoch() == i / 2);
            CHECK(batch.number() == i % 2);
        }
    }
}

TEST_CASE("two full epochs have the full count with a deep prefetch", "[loader][B029]") {
    loader loader{numbers{40}, {.batch_size = 2, .num_workers = 2, .prefetch_factor = 4}};
    CHECK(read_epoch(loader).size() == 20);
    CHECK(read_epoch(loader).size() == 20);
}

TEST_CASE("taking one batch and starting again gives fresh full epochs", "[loader][B025]") {
    for (const bool persistent : {true, false}) {
        loader loader{numbers{40},
                      {.batch_size = 2,
                       .num_workers = 3,
                       .prefetch_factor = 3,
                       .persistent_workers = persistent}};
        for (int start = 0; start < 2; ++start) {
            for (auto& batch : loader) {
                CHECK(batch[&number::value](0) == 0);
                break;
            }
        }
        std::vector<std::int64_t> all;
        for (auto& batch : loader) {
            CHECK(batch.epoch() == 2);
            for (const auto value : batch[&number::value])
                all.push_back(value);
        }
        CHECK(all == count_to(40));
    }
}

TEST_CASE("leaving an epoch after any number of batches never hangs", "[loader][B026]") {
    for (const bool persistent : {true, false}) {
        for (std::size_t leave_after = 0; leave_after <= 10; ++leave_after) {
            loader loader{numbers{20},
                          {.batch_size = 2, .num_workers = 4, .persistent_workers = persistent}};
            for (int round = 0; round < 3; ++round) {
                std::size_t taken = 0;
                if (leave_after > 0) {
                    for (auto& batch : loader) {
                        CHECK(batch.number() == taken);
                        if (++taken == leave_after)
                            break;
                    }
                }
                CHECK(taken == leave_after);
            }
        }
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

TEST_CASE("an exception of the user in the loop is the only one seen", "[loader][B008]") {
    struct users_own {};
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

TEST_CASE("loaders in turn do not disturb each other", "[loader][B030]") {
    loader train{numbers{24}, {.batch_size = 2, .shuffle = true, .num_workers = 4}};
    loader validate{numbers{12}, {.batch_size = 3, .num_workers = 4}};
    for (int round = 0; round < 10; ++round) {
        CHECK(read_epoch(train).size() == 12);
        CHECK(flatten(read_epoch(validate)) == count_to(12));
    }
    auto running = train.next_blocking();
    {
        loader third{numbers{9}, {.batch_size = 2, .num_workers = 2}};
        CHECK(flatten(read_epoch(third)) == count_to(9));
    }
    CHECK(read_epoch(train).size() == 11);
    CHECK(flatten(read_epoch(validate)) == count_to(12));
}

TEST_CASE("a held batch never changes, and holding all is an error in time", "[loader][B024]") {
    for (const int workers : {0, 1}) {
        loader loader{numbers{40},
                      {.batch_size = 2,
                       .num_workers = workers,
                       .timeout = std::chrono::milliseconds(300),
                       .prefetch_factor = 1}};
        auto held = loader.next_blocking();
        const auto contents =
            std::vector<std::int64_t>(held[&number::value].begin(), held[&number::value].end());
        for (int i = 0; i < 10; ++i)
            loader.next_blocking();
        CHECK(std::equal(contents.begin(), contents.end(), held[&number::value].begin()));

        std::vector<decltype(held)> hoard;
        try {
            for (;;)
                hoard.push_back(loader.next_blocking());
        } catch (const error& e) {
            CHECK(e.code() == errc::no_free_slot);
            CHECK_THAT(e.what(), ContainsSubstring("batches are held"));
        }
        REQUIRE_FALSE(hoard.empty());
        const auto reached = hoard.back().number();
        hoard.clear();
        auto next = loader.next_blocking();
        CHECK(next.number() == reached + 1);
        CHECK(std::equal(contents.begin(), contents.end(), held[&number::value].begin()));
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

TEST_CASE("a slow sample does not hold the other workers up", "[loader][B032]") {
    const slow_numbers data{40, [](stoker::index i) { return i == 0 ? 300 : 1; }};
    {
        loader ordered{data, {.batch_size = 1, .num_workers = 4, .prefetch_factor = 2}};
        const auto start = std::chrono::steady_clock::now();
        CHECK(flatten(read_epoch(ordered)) == count_to(40));
        CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(10));
    }
    loader unordered{data,
                     {.batch_size = 1, .num_workers = 4, .prefetch_factor = 2, .in_order = false}};
    const auto order = flatten(read_epoch(unordered));
    CHECK(order.front() != 0);
    CHECK(std::set<std::int64_t>(order.begin(), order.end()).size() == 40);
    CHECK(std::find(order.begin(), order.end(), 0) - order.begin() > 8);
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
