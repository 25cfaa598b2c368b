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

TEST_CASE("values and order equal the dataset's for any number of workers", "[loader]") {
    for (const int workers : {0, 1, 3, 4}) {
        for (const int prefetch : {1, 2, 5}) {
            loader loader{numbers{23},
                          {.batch_size = 5, .num_workers = workers, .prefetch_factor = prefetch}};
            CAPTURE(workers, prefetch);
            for (int epoch = 0; epoch < 3; ++epoch) {
                const auto batches = read_epoch(loader);
                REQUIRE(batches.size() == 5);
                CHECK(batches.back().size() == 3);
                CHECK(flatten(batches) == count_to(23));
            }
            CHECK(loader.length() == 5);
            CHECK(loader.size() == 23);
        }
    }
}

TEST_CASE("all columns of a sample arrive, with indices, epoch and number", "[loader]") {
    loader loader{numbers{10}, {.batch_size = 4, .num_workers = 2}};
    for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
        std::uint64_t number_in_epoch = 0;
        while (auto batch = loader.next_blocking()) {
            CHECK(batch.epoch() == epoch);
            CHECK(batch.number() == number_in_epoch++);
            auto [value, squared] = batch.columns();
            REQUIRE(batch.size() == value.extent(0));
            for (std::size_t i = 0; i < batch.size(); ++i) {
                CHECK(static_cast<std::int64_t>(batch.indices()[i]) == value(i));
                CHECK(squared(i) == value(i) * value(i));
            }
        }
        CHECK(number_in_epoch == 3);
    }
}

TEST_CASE("drop_last leaves out the short batch", "[loader]") {
    for (const int workers : {0, 2}) {
        loader loader{numbers{11}, {.batch_size = 4, .num_workers = workers, .drop_last = true}};
        CHECK(loader.length() == 2);
        CHECK(flatten(read_epoch(loader)) == count_to(8));
    }
}

TEST_CASE("an empty dataset gives epochs without batches and does not hang", "[loader]") {
    for (const int workers : {0, 2}) {
        loader loader{numbers{0}, {.batch_size = 4, .num_workers = workers}};
        for (int epoch = 0; epoch < 3; ++epoch)
            CHECK(read_epoch(loader).empty());
        loader.restart();
        CHECK(read_epoch(loader).empty());
    }
}

TEST_CASE("drop_last with a batch larger than the dataset is refused", "[loader][B070]") {
    CHECK_THROWS_WITH((loader{numbers{5}, {.batch_size = 8, .drop_last = true}}),
                      ContainsSubstring("drop_last leaves no batch"));
}

TEST_CASE("shuffle delivers each sample once, differently each epoch, the same for any workers",
          "[loader]") {
    std::vector<std::vector<std::int64_t>> reference;
    for (const int workers : {0, 1, 4}) {
        loader loader{numbers{101},
                      {.batch_size = 8, .shuffle = true, .num_workers = workers, .seed = 7}};
        for (std::size_t epoch = 0; epoch < 3; ++epoch) {
            const auto order = flatten(read_epoch(loader));
            auto sorted = order;
            std::sort(sorted.begin(), sorted.end());
            CHECK(sorted == count_to(101));
            if (workers == 0) {
                for (const auto& earlier : reference)
                    CHECK(order != earlier);
                reference.push_back(order);
            } else {
                CHECK(order == reference[epoch]);
            }
        }
    }
}

TEST_CASE("a sample's random numbers follow from seed, epoch and position alone", "[loader]") {
    std::vector<std::uint64_t> reference;
    for (const int workers : {0, 1, 2, 5}) {
        loader loader{draws{30},
                      {.batch_size = 4, .shuffle = true, .num_workers = workers, .seed = 3}};
        std::vector<std::uint64_t> bits;
        for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
            std::uint64_t position = 0;
            while (auto batch = loader.next_blocking()) {
                auto [drawn_bits, epochs, positions] = batch.columns();
                for (std::size_t i = 0; i < batch.size(); ++i) {
                    bits.push_back(drawn_bits(i));
                    CHECK(epochs(i) == epoch);
                    CHECK(positions(i) == position++);
                }
            }
        }
        CHECK(std::set<std::uint64_t>(bits.begin(), bits.end()).size() == 60);
        if (workers == 0)
            reference = bits;
        CHECK(bits == reference);
    }
}

TEST_CASE("more workers than batches cost nothing and end, under a storm of signals",
          "[loader][B011]") {
    struct sigaction count {};
    count.sa_handler = [](int) {};  // without SA_RESTART: system calls are interrupted
    struct sigaction before {};
    ::sigaction(SIGALRM, &count, &before);
    const itimerval every_millisecond{{0, 1000}, {0, 1000}}, never{};
    ::setitimer(ITIMER_REAL, &every_millisecond, nullptr);
    for (int round = 0; round < 10; ++round) {
        loader loader{numbers{10}, {.batch_size = 2, .num_workers = 12, .drop_last = true}};
        for (auto& batch : loader) {
            CHECK(batch.size() == 2);
            break;
        }
        CHECK(read_epoch(loader).size() == 4);
    }
    ::setitimer(ITIMER_REAL, &never, nullptr);
    ::sigaction(SIGALRM, &before, nullptr);
}

TEST_CASE("ranges are samplers and batch samplers", "[loader]") {
    for (const int workers : {0, 2}) {
        loader thirds{numbers{20},
                      {.batch_size = 3, .num_workers = workers},
                      sampler{ranges::views::iota(0, 20) |
                              ranges::views::filter([](int i) { return i % 3 == 0; })}};
        CHECK(flatten(read_epoch(thirds)) == std::vector<std::int64_t>{0, 3, 6, 9, 12, 15, 18});
        CHECK(read_epoch(thirds).size() == 3);
        loader sevens{numbers{20},
                      {.num_workers = workers},
                      batch_sampler{ranges::views::iota(0, 20) | ranges::views::chunk(7)}};
        const auto batches = read_epoch(sevens);
        REQUIRE(batches.size() == 3);
        CHECK(batches[0].size() == 7);
        CHECK(batches[2].size() == 6);
        CHECK(flatten(read_epoch(sevens)) == count_to(20));
    }
}

TEST_CASE("try_next and ready report without waiting", "[loader]") {
    loader loader{slow_numbers{2, [](stoker::index) { return 200; }},
                  {.batch_size = 1, .num_workers = 1}};
    CHECK_FALSE(loader.ready());
    CHECK_FALSE(loader.try_next());
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!loader.ready() && std::chrono::steady_clock::now() < limit) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    auto batch = loader.try_next();
    REQUIRE(batch);
    CHECK((*batch)[&number::value](0) == 0);
}

TEST_CASE("worker_init and open run once a worker; their failure is told whole", "[loader]") {
    struct needs_open {
        bool opened = false;
        std::size_t size() const { return 4; }
        void open() { opened = true; }
        number get(stoker::index i) const {
            if (!opened)
                throw std::logic_error("not opened");
            return {static_cast<std::int64_t>(i), 0};
        }
    };
    for (const int workers : {0, 2}) {
        loader good{needs_open{}, {.batch_size = 2, .num_workers = workers}};
        CHECK(flatten(read_epoch(good)) == count_to(4));
        loader bad{needs_open{},
                   {.batch_size = 2, .num_workers = workers},
                   worker_init{[](worker_info) { throw std::runtime_error("no such device"); }}};
        CHECK_THROWS_WITH(bad.next_blocking(), ContainsSubstring("no such device"));
    }
}

TEST_CASE("a single value is a sample", "[loader]") {
    loader loader{std::vector<float>{1, 2, 3}, {.batch_size = 2, .num_workers = 1}};
    auto batch = loader.next_blocking();
    auto [value] = batch.columns();
    CHECK(value(1) == 2.0F);
}

TEST_CASE("a loader can be moved, also while it is in an epoch", "[loader]") {
    loader first{numbers{8}, {.batch_size = 2, .num_workers = 2}};
    CHECK(first.next_blocking().number() == 0);
    loader second{std::move(first)};
    CHECK(second.next_blocking().number() == 1);
    loader other{numbers{4}, {.batch_size = 2, .num_workers = 1}};
    other = std::move(second);
    CHECK(other.next_blocking().number() == 2);
}
