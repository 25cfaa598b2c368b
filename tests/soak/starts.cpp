#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <iostream>
#include <tuple>
#include <vector>

#include <stoker/stoker.hpp>
#include "support/catch.hpp"
#include "support/leaks.hpp"

using namespace stoker::test_support;

TEST_CASE("2,000 starts leave descriptors, memory and /dev/shm as they were", "[soak]") {
    const std::vector<std::int64_t> items(64, 1);
    const auto start_one = [&](int round) {
        stoker::loader loader{items, {.batch_size = 4, .num_workers = 2}};
        std::int64_t batches = 0;
        for (auto& batch : loader) {
            batches += batch ? 1 : 0;
            if (round % 3 == 0 && batches == 5)
                break;  // leave some of them early
        }
        return batches;
    };
    for (int round = 0; round < 50; ++round)
        start_one(round);  // allocators settle
    const std::size_t descriptors = open_descriptor_count();
    const std::size_t memory = resident_bytes();
    for (int round = 0; round < 2000; ++round) {
        REQUIRE(start_one(round) == (round % 3 == 0 ? 5 : 16));
    }
    std::cout << "resident memory after 50 and 2,050 starts: " << memory / 1024 << " and "
              << resident_bytes() / 1024 << " KiB\n";
    CHECK(open_descriptor_count() == descriptors);
    CHECK(resident_bytes() < memory + (2U << 20));
    CHECK(shared_memory_entries(::getpid()).empty());
    CHECK(holds_within(std::chrono::seconds(5), [] { return descendants().empty(); }));
}

TEST_CASE("more workers start than a socket holds messages", "[soak]") {
    rlimit descriptors{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &descriptors) == 0);
    descriptors.rlim_cur = descriptors.rlim_max;
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &descriptors) == 0);
    constexpr int workers = 400;
    if (descriptors.rlim_cur < 8 * workers) {
        std::cout << "skipped: too few descriptors allowed\n";
        return;
    }
    const std::vector<std::int64_t> items(4 * workers, 1);
    stoker::loader loader{items, {.num_workers = workers}};
    std::int64_t sum = 0;
    for (auto& batch : loader)
        sum += std::get<0>(batch.columns())[0];
    CHECK(sum == 4 * workers);
    CHECK(loader.worker_processes().size() == static_cast<std::size_t>(workers));
}
