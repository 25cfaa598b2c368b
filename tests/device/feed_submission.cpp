// Whether bytes arrive as they were made, whatever is late, and whether each edge between streams
// is missed when it is taken away: an edge that no test misses might as well not be there.

#include <string>
#include <utility>

#include "device/device_rig.hpp"

using namespace device_rig;

namespace {

constexpr int many_batches = 10'000;
constexpr int some_batches = 1'000;
/// Enough for what is wrong to show, on machines of any speed.
constexpr int mutant_batches = 400;

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int share = 10;  // each look costs as much more
#else
constexpr int share = 1;
#endif

/// What is seen of a machine that is as late as this, with that edge missing.
int bad_batches_without(bool feed_edges::*edge, feed_plan plan) {
    plan.edges.*edge = false;
    for (const std::uint64_t seed : {1U, 2U, 3U, 4U, 5U}) {
        simulated_platform platform(late(seed));
        if (const int bad = run_feed(platform, plan, mutant_batches); bad > 0)
            return bad;
    }
    return 0;
}

feed_plan prepared_plan() {
    feed_plan plan;
    plan.prepared = true;
    return plan;
}

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

// Each edge taken away.

TEST_CASE("a slot given back before its copy has ended is seen") {
    CHECK(bad_batches_without(&feed_edges::slot_after_copy, {}) > 0);
}

TEST_CASE("a bounce buffer used again before its copy has ended is seen") {
    feed_plan plan;
    plan.edges.bounce_after_copy = false;
    simulated_platform platform(late());
    platform.fail("cudaHostRegister", cuda_code::not_supported, 0, 1000);
    CHECK(run_feed(platform, plan, mutant_batches) > 0);
}

TEST_CASE("a staging buffer written while it is read is seen") {
    CHECK(bad_batches_without(&feed_edges::staging_after_preparation, prepared_plan()) > 0);
}

TEST_CASE("a preparation that does not wait for its copy is seen") {
    CHECK(bad_batches_without(&feed_edges::preparation_after_copy, prepared_plan()) > 0);
}

TEST_CASE("an output written while its consumers read it is seen") {
    CHECK(bad_batches_without(&feed_edges::write_after_consumers, {}) > 0);
    feed_plan behind = prepared_plan();
    behind.looks_take = std::chrono::microseconds(1500);
    CHECK(bad_batches_without(&feed_edges::write_after_consumers, behind) > 0);
}

TEST_CASE("a release that records nothing is seen") {
    CHECK(bad_batches_without(&feed_edges::consumers_recorded, {}) > 0);
}

TEST_CASE("a release that forgets all streams but one is seen") {
    feed_plan plan;
    plan.consumers = 3;
    CHECK(bad_batches_without(&feed_edges::every_consumer, plan) > 0);
}

TEST_CASE("a reader that does not wait for its batch is seen") {
    CHECK(bad_batches_without(&feed_edges::reader_after_ready, {}) > 0);
    CHECK(bad_batches_without(&feed_edges::reader_after_ready, prepared_plan()) > 0);
}
