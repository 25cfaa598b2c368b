// How batches are used and given back, graphs and all.

#include <atomic>
#include <thread>
#include <vector>

#include "device/device_rig.hpp"

using namespace device_rig;

TEST_CASE("a stream that is captured cannot be made to wait for a batch") {
    simulated_platform platform(quick());
    const auto feed = make_feed({}, simulated_device());
    consumer eyes(platform, {});
    device_lease batch = feed->next_blocking();
    platform.begin_capture(eyes.stream(), cuda_flag::capture_mode_global);
    const stoker::error refused = error_of([&] { batch.use_on(eyes.stream()); });
    CHECK(refused.code() == stoker::errc::stream_captured);
    CHECK(contains(refused.what(), "on() was called for a stream that is being captured"));
    CHECK(platform.end_capture(eyes.stream()));  // and it is not broken
    eyes.look_at(batch);
    CHECK(eyes.bad() == 0);
    batch = {};
    feed->close();
}

TEST_CASE("a release on a stream that is captured is refused, and works afterwards") {
    simulated_platform platform(quick());
    const auto feed = make_feed({}, simulated_device());
    consumer eyes(platform, {});
    device_lease batch = feed->next_blocking();
    eyes.look_at(batch);
    platform.begin_capture(eyes.stream(), cuda_flag::capture_mode_global);
    CHECK(error_of([&] { batch.release(); }).code() == stoker::errc::stream_captured);
    CHECK(batch);
    CHECK(platform.end_capture(eyes.stream()));
    batch.release();
    CHECK_FALSE(batch);
    batch.release();  // once more does nothing
    feed->close();
}

TEST_CASE("a batch that dies while its stream is captured is made up for") {
    simulated_platform platform(quick());
    feed_plan plan;
    plan.feeding.depth = 1;
    const auto feed = make_feed(plan, simulated_device());
    consumer eyes(platform, plan);
    {
        device_lease batch = feed->next_blocking();
        eyes.look_at(batch);
        platform.begin_capture(eyes.stream(), cuda_flag::capture_mode_global);
    }
    // The other buffer serves meanwhile, without breaking the capture.
    for (int i = 0; i < 10; ++i)
        CHECK(feed->next_blocking());
    CHECK(platform.end_capture(eyes.stream()));
    for (int i = 0; i < 20; ++i) {
        device_lease first = feed->next_blocking();
        device_lease second = feed->next_blocking();  // needs both
        eyes.look_at(first);
        eyes.look_at(second);
    }
    CHECK(eyes.bad() == 0);
    CHECK(platform.violations() == std::vector<std::string>{});
    feed->close();
}

TEST_CASE("a batch that dies while the per-thread stream is captured is made up for, too") {
    simulated_platform platform(late());
    feed_plan plan;
    plan.feeding.depth = 1;
    const auto feed = make_feed(plan, simulated_device());
    consumer eyes(platform, plan);
    const cuda_stream own = stoker::detail::per_thread_stream();
    for (int i = 0; i < 20; ++i) {
        device_lease batch = feed->next_blocking();
        batch.use_on(own);
        for (int looks = 0; looks < 4; ++looks)  // still under way when the batch dies
            eyes.enqueue(own, batch.record());
        platform.begin_capture(own, cuda_flag::capture_mode_thread_local);
        batch = {};
        CHECK(platform.end_capture(own));
    }
    CHECK(platform.table().synchronize_stream(own) == 0);
    CHECK(eyes.bad() == 0);
    CHECK(platform.violations() == std::vector<std::string>{});
    feed->close();
}

TEST_CASE("a feed at work breaks no capture of another thread's") {
    simulated_platform platform(quick());
    const auto feed = make_feed({}, simulated_device());
    consumer eyes(platform, {});
    cuda_stream graph = nullptr;
    REQUIRE(platform.table().create_stream(&graph, 0, 0) == 0);
    std::thread capturing([&] { platform.begin_capture(graph, cuda_flag::capture_mode_global); });
    capturing.join();
    for (int i = 0; i < 100; ++i) {
        device_lease batch = feed->next_blocking();
        eyes.look_at(batch);
    }
    CHECK(platform.end_capture(graph));
    CHECK(eyes.bad() == 0);
    feed->close();
    platform.table().destroy_stream(graph);
}

TEST_CASE("batches are released on any thread") {
    simulated_platform platform(quick());
    feed_plan plan;
    plan.feeding.hold = 4;
    const auto feed = make_feed(plan, simulated_device());
    consumer eyes(platform, plan);
    std::thread releasing;
    for (int i = 0; i < 100; ++i) {
        device_lease batch = feed->next_blocking();
        eyes.look_at(batch);
        if (releasing.joinable())
            releasing.join();
        releasing = std::thread([held = std::move(batch)]() mutable { held.release(); });
    }
    releasing.join();
    CHECK(eyes.bad() == 0);
    feed->close();
}

TEST_CASE("a batch that nobody used gives its buffer back without an event") {
    simulated_platform platform(quick());
    const auto feed = make_feed({}, simulated_device());
    platform.fail("cudaEventRecord", cuda_code::illegal_address, 1000);
    for (int i = 0; i < 50; ++i)
        CHECK(feed->next_blocking());
    CHECK(platform.violations() == std::vector<std::string>{});
    feed->close();
}

TEST_CASE("a stream that is none is refused, and the feed goes on") {
    simulated_platform platform(quick());
    const auto feed = make_feed({}, simulated_device());
    device_lease batch = feed->next_blocking();
    int nothing = 0;
    const stoker::error refused =
        error_of([&] { batch.use_on(reinterpret_cast<cuda_stream>(&nothing)); });
    CHECK(refused.code() == stoker::errc::device_failed);
    CHECK(contains(refused.text(), "on(stream) of batch 0"));
    batch = {};
    CHECK(feed->next_blocking());
    feed->close();
}
