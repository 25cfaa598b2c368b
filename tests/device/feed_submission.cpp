// Whether bytes arrive as they were made, whatever is late, and whether each edge between streams
// is missed when it is taken away: an edge that no test misses might as well not be there.

#include <string>
#include <utility>

#include "device/device_rig.hpp"

using namespace device_rig;

namespace {

constexpr int many_batches = 10'000;
constexpr int some_batches = 1'000;
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int share = 10;  // each look costs as much more
#else
constexpr int share = 1;
#endif

}  // namespace

TEST_CASE("ten thousand batches reach the device's streams without one that is wrong [B162]") {
    simulated_platform platform(quick());
    stoker::feed_stats stats;
    CHECK(run_feed(platform, {}, many_batches / share, &stats) == 0);
    CHECK(platform.violations() == std::vector<std::string>{});
    CHECK(platform.leftovers() == 0);
    CHECK(stats.mode == stoker::pinning::registered);
    CHECK(stats.batches >= static_cast<std::uint64_t>(many_batches / share));
    CHECK(stats.copies == stats.batches);
    CHECK(platform.traffic().host_to_device_copies == stats.copies);
    CHECK(platform.traffic().host_to_device_bytes == stats.copied_bytes);
    CHECK(platform.traffic().pageable_copies == 0);
}

TEST_CASE("batches that are prepared on the device are right") {
    simulated_platform platform(quick());
    feed_plan plan;
    plan.prepared = true;
    CHECK(run_feed(platform, plan, some_batches / share) == 0);
    CHECK(platform.violations() == std::vector<std::string>{});
    CHECK(platform.leftovers() == 0);
}

TEST_CASE("batches of worker processes are right, sent ahead or not") {
    for (const int depth : {1, 4}) {
        feed_plan plan;
        plan.loading.num_workers = 2;
        plan.feeding.depth = depth;
        simulated_platform platform(quick());
        CHECK(run_feed(platform, plan, some_batches / share) == 0);
        CHECK(platform.violations() == std::vector<std::string>{});
    }
}

TEST_CASE("any number of streams may read a batch") {
    simulated_platform platform(quick());
    feed_plan plan;
    plan.consumers = 3;
    CHECK(run_feed(platform, plan, some_batches / share) == 0);
    CHECK(platform.violations() == std::vector<std::string>{});
}

TEST_CASE("where slots cannot be registered batches go through pinned buffers") {
    simulated_platform platform(quick());
    platform.fail("cudaHostRegister", cuda_code::not_supported, 0, 1000);
    feed_plan plan;
    std::string told;
    plan.feeding.on_notice = [&](std::string_view text) { told += text; };
    stoker::feed_stats stats;
    CHECK(run_feed(platform, plan, some_batches / share, &stats) == 0);
    CHECK(stats.mode == stoker::pinning::bounce);
    CHECK(stats.bounced == stats.batches);
    CHECK(platform.traffic().pageable_copies == 0);
    CHECK(told.find("cudaHostRegister failed on simulated device 0") != std::string::npos);
    CHECK(told.find("pinned buffers") != std::string::npos);
    CHECK(platform.violations() == std::vector<std::string>{});
}

TEST_CASE("where nothing can be pinned batches come from pageable memory, with one notice [B161]") {
    simulated_platform platform(quick());
    platform.fail("cudaHostRegister", cuda_code::not_supported, 0, 1000);
    platform.fail("cudaHostAlloc", cuda_code::out_of_memory, 0, 1000);
    feed_plan plan;
    int notices = 0;
    plan.feeding.on_notice = [&](std::string_view) { ++notices; };
    stoker::feed_stats stats;
    CHECK(run_feed(platform, plan, some_batches / share, &stats) == 0);
    CHECK(stats.mode == stoker::pinning::pageable);
    CHECK(stats.pageable == stats.batches);
    CHECK(platform.traffic().pageable_copies == stats.copies);
    CHECK(notices == 1);
}

TEST_CASE("without pin_memory nothing is pinned, and nothing is said") {
    simulated_platform platform(quick());
    feed_plan plan;
    plan.feeding.pin_memory = false;
    plan.feeding.on_notice = [](std::string_view) { FAIL("nobody asked"); };
    stoker::feed_stats stats;
    CHECK(run_feed(platform, plan, some_batches / share, &stats) == 0);
    CHECK(stats.mode == stoker::pinning::pageable);
    CHECK(stats.pinned_bytes == 0);
}
