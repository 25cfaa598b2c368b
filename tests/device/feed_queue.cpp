// Order: batches, errors and ends of epochs come out as they went in, whatever was sent ahead.

#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "device/device_rig.hpp"

using namespace device_rig;

namespace {

struct failing_dataset {
    std::size_t size() const { return 40; }
    int get(stoker::index sample) const {
        if (sample == 17)
            throw std::runtime_error("sample 17 is bad");
        return static_cast<int>(sample);
    }
};

}  // namespace

TEST_CASE("epochs end, and the next call begins the next one") {
    for (const int workers : {0, 2}) {
        stoker::loader loader{word_dataset{20}, {.batch_size = 4, .num_workers = workers}};
        const simulated_platform platform(quick());
        stoker::device_feed feed{std::move(loader), simulated_device()};
        for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
            std::uint64_t number = 0;
            while (auto batch = feed.next_blocking()) {
                CHECK(batch.epoch() == epoch);
                CHECK(batch.number() == number++);
                CHECK(batch.size() == 4);
                CHECK(batch.bytes() >= 4 * words_a_sample * 4);
            }
            CHECK(number == 5);
        }
    }
}

TEST_CASE("a sample that fails costs its batch, at its place") {
    for (const int workers : {0, 2}) {
        stoker::loader loader{failing_dataset{}, {.batch_size = 4, .num_workers = workers}};
        const simulated_platform platform(quick());
        stoker::device_feed feed{std::move(loader), simulated_device()};
        std::vector<std::uint64_t> numbers;
        for (int i = 0; i < 4; ++i)
            numbers.push_back(feed.next_blocking().number());
        const stoker::error failed = error_of([&] { feed.next_blocking(); });
        CHECK(failed.code() == stoker::errc::sample_failed);
        CHECK(failed.sample() == 17);
        while (auto batch = feed.next_blocking())
            numbers.push_back(batch.number());
        CHECK(numbers == std::vector<std::uint64_t>{0, 1, 2, 3, 5, 6, 7, 8, 9});
    }
}

TEST_CASE("restart drops what was sent ahead and begins the next epoch") {
    stoker::loader loader{word_dataset{64}, {.batch_size = 4, .num_workers = 2}};
    const simulated_platform platform(quick());
    stoker::device_feed feed{std::move(loader), simulated_device()};
    feed.restart();  // nothing was delivered
    CHECK(feed.next_blocking().epoch() == 0);
    CHECK(feed.next_blocking().number() == 1);
    feed.restart();
    {
        const auto batch = feed.next_blocking();
        CHECK(batch.epoch() == 1);
        CHECK(batch.number() == 0);
    }
    feed.restart(7);
    CHECK(feed.next_blocking().epoch() == 7);
}

TEST_CASE("who holds all buffers is told so, in time") {
    feed_plan plan;
    plan.feeding.depth = 1;
    plan.loading.timeout = std::chrono::milliseconds(50);
    const simulated_platform platform(quick());
    const auto feed = make_feed(plan, simulated_device());
    device_lease first = feed->next_blocking();
    const device_lease second = feed->next_blocking();
    const stoker::error failed = error_of([&] { feed->next_blocking(); });
    CHECK(failed.code() == stoker::errc::no_free_slot);
    CHECK(contains(failed.text(), "2 batches are held"));
    CHECK(feed->stats().waits == 1);
    first = {};
    CHECK(feed->next_blocking());
    feed->close();
}

TEST_CASE("a release on another thread ends the wait for room") {
    feed_plan plan;
    plan.feeding.depth = 1;
    const simulated_platform platform(quick());
    const auto feed = make_feed(plan, simulated_device());
    for (int round = 0; round < 20; ++round) {
        device_lease first = feed->next_blocking();
        const device_lease second = feed->next_blocking();
        std::thread releasing([held = std::move(first)]() mutable {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            held.release();
        });
        CHECK(feed->next_blocking());
        releasing.join();
    }
    feed->close();
}

TEST_CASE("batches are sent ahead up to depth, where workers make them") {
    stoker::loader loader{
        word_dataset{640},
        {.batch_size = 4, .num_workers = 2, .prefetch_factor = 4, .epochs = stoker::endless}};
    const simulated_platform platform(quick());
    stoker::device_feed feed{std::move(loader), simulated_device(),
                             stoker::feed_options{.depth = 4}};
    std::uint64_t delivered = 0;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (feed.stats().batches < delivered + 4 && std::chrono::steady_clock::now() < end) {
        CHECK(feed.next_blocking());
        ++delivered;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    CHECK(feed.stats().batches == delivered + 4);
}
