#include <sys/mman.h>

#include <fstream>
#include <sstream>
#include <string>

#include "loader/loader_datasets.hpp"
#include "support/catch.hpp"
#include "support/leaks.hpp"

using namespace stoker;
using namespace stoker::test_loader;
using Catch::Matchers::ContainsSubstring;

namespace {

struct image {
    tensor<std::uint8_t, 3, 64, 64> pixels;
};
struct images {
    std::size_t size() const { return 400; }
    image get(stoker::index i) const {
        image result;
        result.pixels.fill(static_cast<std::uint8_t>(i));
        return result;
    }
};

/// "Pss_Anon" and the like of one process, in bytes.
std::uint64_t rollup(pid_t process, const std::string& field) {
    std::ifstream file("/proc/" + std::to_string(process) + "/smaps_rollup");
    for (std::string line; std::getline(file, line);) {
        if (line.rfind(field + ":", 0) != 0)
            continue;
        std::istringstream words(line.substr(field.size() + 1));
        std::uint64_t kilobytes = 0;
        words >> kilobytes;
        return kilobytes << 10;
    }
    return 0;
}

}  // namespace

TEST_CASE("memory() counts slots, batches and workers before anything is loaded", "[loader]") {
    loader source{images{}, {.batch_size = 10, .num_workers = 2, .prefetch_factor = 3}};
    const memory_use use = source.memory();
    CHECK(use.slots == 2 * 3 + 2);
    CHECK(use.batch_bytes >= 10 * 3 * 64 * 64);
    CHECK(use.batch_bytes < 10 * 3 * 64 * 64 + 16384);
    CHECK(use.slab_bytes == use.slots * use.batch_bytes);
    CHECK(use.workers == 2);
    CHECK(use.total_bytes ==
          use.slab_bytes + use.queue_bytes + 2 * use.worker_bytes + use.fork_server_bytes);
    CHECK_THAT(use.text(), ContainsSubstring("8 slots") && ContainsSubstring("2 workers"));
    memory_use large{};
    large.slots = 10;
    large.batch_bytes = std::uint64_t{3} << 30;
    large.workers = 4;
    large.worker_bytes = 1500 << 10;
    large.fork_server_bytes = 650 << 10;
    large.queue_bytes = 40 << 10;
    large.total_bytes = std::uint64_t{31} << 30;
    CHECK(large.text() ==
          "10 slots × 3.0 GiB + 4 workers × 1.5 MiB + fork server 650 KiB + queues 40 KiB = "
          "31.0 GiB");
    loader here{numbers{4}, {.batch_size = 2}};
    CHECK(here.memory().workers == 0);
    CHECK(here.memory().total_bytes == here.memory().slab_bytes);
}

TEST_CASE("shared memory of a loader is what memory() said it would be", "[loader]") {
    loader source{images{}, {.batch_size = 20, .num_workers = 2, .prefetch_factor = 4}};
    for (int epoch = 0; epoch < 3; ++epoch) {
        while (auto batch = source.next_blocking()) {
        }
    }
    const memory_use use = source.memory();
    std::uint64_t shared = rollup(::getpid(), "Pss_Shmem");
    for (const pid_t process : source.worker_processes())
        shared += rollup(process, "Pss_Shmem");
    CAPTURE(shared, use.text());
    CHECK(shared <= use.slab_bytes + use.queue_bytes + (1 << 20));
    CHECK(shared >= use.slab_bytes / 2);
}

TEST_CASE("a memory limit below the need is refused with both numbers", "[loader]") {
    CHECK_THROWS_WITH(
        (loader{
            images{},
            {.batch_size = 100, .num_workers = 2, .memory_limit_bytes = std::uint64_t{1} << 20}}),
        ContainsSubstring("memory_limit_bytes") && ContainsSubstring("1048576"));
}
