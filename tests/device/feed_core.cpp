// How a feed is made, what it takes, and how it fails while it is made.

#include "device/feed_core.hpp"

#include <string>
#include <vector>

#include "device/device_rig.hpp"

using namespace device_rig;

namespace {

constexpr std::uint64_t batch_bytes = 4 * (words_a_sample * 4 + 8);

}  // namespace

TEST_CASE("all memory, streams and events are made at construction") {
    simulated_platform platform(quick());
    const auto feed = make_feed({}, simulated_device());
    const std::uint64_t before = feed->stats().device_bytes;
    CHECK(before >= 3 * batch_bytes);
    platform.fail("cudaMalloc", cuda_code::out_of_memory, 0, 1000);
    platform.fail("cudaStreamCreateWithPriority", cuda_code::out_of_memory, 0, 1000);
    platform.fail("cudaEventCreateWithFlags", cuda_code::out_of_memory, 0, 1000);
    for (int i = 0; i < 50; ++i)
        CHECK(feed->next_blocking());
    CHECK(feed->stats().device_bytes == before);
    CHECK(feed->stats().growths == 0);
    feed->close();
}

TEST_CASE("depth is lowered to fit the budget of bytes, with a notice") {
    const simulated_platform platform(quick());
    feed_plan plan;
    std::string told;
    plan.feeding.depth = 8;
    plan.feeding.memory_limit_bytes = 4 * 9000;
    plan.feeding.on_notice = [&](std::string_view text) { told += text; };
    const auto feed = make_feed(plan, simulated_device());
    CHECK(feed->stats().depth == 3);
    CHECK(feed->stats().device_bytes <= plan.feeding.memory_limit_bytes);
    CHECK(contains(told, "depth was lowered from 8 to 3"));
    feed->close();
}

TEST_CASE("a budget that does not hold two batches is refused") {
    const simulated_platform platform(quick());
    feed_plan plan;
    plan.feeding.memory_limit_bytes = 9000;
    const stoker::error refused = error_of([&] { make_feed(plan, simulated_device()); });
    CHECK(refused.code() == stoker::errc::memory_limit);
    CHECK(contains(refused.what(), "memory_limit_bytes is 9000"));
    CHECK(platform.leftovers() == 0);
}

TEST_CASE("options out of range are named") {
    const simulated_platform platform(quick());
    feed_plan shallow;
    shallow.feeding.depth = 0;
    CHECK(contains(error_of([&] { make_feed(shallow, simulated_device()); }).what(),
                   "depth is 0, not in 1 to 64"));
    feed_plan greedy;
    greedy.feeding.hold = 65;
    CHECK(contains(error_of([&] { make_feed(greedy, simulated_device()); }).what(),
                   "hold is 65, not in 1 to 64"));
}

TEST_CASE("whatever call fails while a feed is made, it is named and nothing is left") {
    for (const bool prepared : {false, true}) {
        for (const char* entry :
             {"cudaMalloc", "cudaStreamCreateWithPriority", "cudaEventCreateWithFlags"}) {
            for (int after = 0; after < 2; ++after) {
                INFO(entry << " number " << after);
                simulated_platform platform(quick());
                feed_plan plan;
                plan.prepared = prepared;
                if (!prepared && after > 0 && std::string(entry) == "cudaStreamCreateWithPriority")
                    continue;  // there is one
                platform.fail(entry, cuda_code::out_of_memory, after);
                const stoker::error failed = error_of([&] { make_feed(plan, simulated_device()); });
                CHECK(failed.code() == stoker::errc::device_failed);
                CHECK(contains(failed.what(), std::string(entry) + " failed"));
                CHECK(platform.leftovers() == 0);
            }
        }
    }
}

TEST_CASE("a feed on the second device never touches the first [B159]") {
    simulation how = quick();
    how.devices = 2;
    simulated_platform platform(how);
    REQUIRE(platform.table().set_device(1) == 0);
    feed_plan plan;
    plan.ordinal = 1;
    CHECK(run_feed(platform, plan, 100) == 0);
    CHECK(platform.touched(1));
    CHECK_FALSE(platform.touched(0));
    REQUIRE(platform.table().set_device(0) == 0);
}

TEST_CASE("a feed sets its device itself, on its thread and its user's [B159]") {
    simulation how = quick();
    how.devices = 2;
    const simulated_platform platform(how);
    {
        feed_plan plan;
        plan.ordinal = 1;
        const auto feed = make_feed(plan, simulated_device(1));
        for (int i = 0; i < 50; ++i)
            CHECK(feed->next_blocking());
        feed->close();
    }
    CHECK_FALSE(platform.touched(0));
}

TEST_CASE("batches keep what they need when their feed is gone") {
    simulated_platform platform(late());
    device_lease kept;
    {
        const auto feed = make_feed({}, simulated_device());
        kept = feed->next_blocking();
        feed->close();
    }
    consumer eyes(platform, {});
    eyes.look_at(kept);
    CHECK(eyes.bad() == 0);
    CHECK(platform.leftovers() > 1);
    kept = {};
    CHECK(platform.leftovers() == 1);  // the consumer's stream
    CHECK(platform.violations() == std::vector<std::string>{});
}

TEST_CASE("a feed that dies with copies under way waits for them") {
    for (int round = 0; round < 20; ++round) {
        const simulated_platform platform(late(static_cast<std::uint64_t>(round + 1)));
        const auto feed = make_feed({}, simulated_device());
        const device_lease batch = feed->next_blocking();
        feed->close();
        CHECK(platform.violations() == std::vector<std::string>{});
    }
}
