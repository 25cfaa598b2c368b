// Whether each edge between streams, buffers and threads is missed when it is taken away: an edge
// that no test misses might as well not be there. Not under ThreadSanitizer, which ends the first
// of these programs for the race that it is.

#include "device/device_rig.hpp"

using namespace device_rig;

namespace {

/// Enough for what is wrong to show, on machines of any speed.
constexpr int mutant_batches = 400;

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
