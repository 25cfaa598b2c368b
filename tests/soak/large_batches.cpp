// Batches of more than 2 GiB: no length on the way may have 32 bits.

#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <string>

#include <stoker/stoker.hpp>
#include "support/catch.hpp"
#include "support/instrumented.hpp"

namespace {

constexpr std::size_t sample_bytes = std::size_t{1} << 20;  // the most that one may have
constexpr int batch_size = 2320;                            // 2.27 GiB

struct plate {
    stoker::tensor<std::uint64_t, sample_bytes / 8> words;
};
/// A word in each page of each sample tells both; the rest is what the kernel gives.
struct plates {
    std::size_t size() const { return batch_size; }
    void read(stoker::index i, stoker::row<plate> place) const {
        std::uint64_t* const words = place[&plate::words].data();
        for (std::size_t word = 0; word < sample_bytes / 8; word += 512)
            words[word] = i << 32 | word;
    }
};

std::uint64_t free_bytes() {
    std::ifstream file("/proc/meminfo");
    std::string key;
    for (std::uint64_t kilobytes = 0; file >> key >> kilobytes; file.ignore(100, '\n')) {
        if (key == "MemAvailable:")
            return kilobytes << 10;
    }
    return 0;
}

}  // namespace

TEST_CASE("a batch of more than 2 GiB is delivered whole", "[soak][B020]") {
    constexpr std::uint64_t batch_bytes = std::uint64_t{sample_bytes} * batch_size;
    static_assert(batch_bytes > std::uint64_t{2} << 30);
    if (stoker::test_support::instrumented || free_bytes() < 5 * batch_bytes) {
        WARN("skipped: this needs 12 GB of memory, uninstrumented");
        return;
    }
    stoker::loader loader{plates{},
                          {.batch_size = batch_size, .num_workers = 1, .prefetch_factor = 1}};
    const auto batch = loader.next_blocking();
    REQUIRE(batch);
    CHECK(batch.size() == batch_size);
    const auto words = batch[&plate::words];
    std::uint64_t right = 0;
    for (std::uint64_t i = 0; i < batch_size; ++i) {
        const std::uint64_t* const sample = &words(i, 0);
        for (std::uint64_t word = 0; word < sample_bytes / 8; word += 512)
            right += sample[word] == (i << 32 | word) ? 1 : 0;
    }
    CHECK(right == std::uint64_t{batch_size} * (sample_bytes / 4096));
    CHECK_FALSE(loader.next_blocking());
}

TEST_CASE("one of more than 2 GiB beyond the limit is refused with both sizes", "[soak][B020]") {
    try {
        stoker::loader loader{plates{},
                              {.batch_size = batch_size,
                               .num_workers = 1,
                               .memory_limit_bytes = std::uint64_t{3} << 30}};
        FAIL("it was accepted");
    } catch (const stoker::error& failure) {
        CHECK(failure.code() == stoker::errc::memory_limit);
        CHECK(failure.text().find("2.26") != std::string::npos);
        CHECK(failure.text().find("3 GiB") != std::string::npos);
    }
}
