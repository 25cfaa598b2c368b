// What a profiler sees of a feed: the recorder stands in for it, in main and in workers, across
// co_await, and on an executor of several threads.

#include <set>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>

#include <stoker/device/prepare.hpp>
#include "device/device_rig.hpp"
#include "support/recorded_ranges.hpp"

using namespace device_rig;
namespace asio = boost::asio;

namespace {

struct picture {
    stoker::tensor<std::uint8_t, 8, 8, 3> pixels;
};

struct device_picture {
    stoker::tensor<float, 3, 8, 8> pixels;
};

constexpr int batches = 12;

/// Samples that are under way together, and end in another order than they began.
struct slow_pictures {
    std::size_t size() const { return batches * 4; }
    asio::awaitable<picture> get(stoker::index sample) const {
        asio::steady_timer timer(co_await asio::this_coro::executor);
        timer.expires_after(std::chrono::milliseconds(3 * (4 - sample % 4)));
        co_await timer.async_wait(asio::use_awaitable);
        co_return picture{};
    }
};

struct sentence {
    stoker::ragged<std::int32_t> tokens;
};

/// Collated when all are there.
struct sentences {
    std::size_t size() const { return batches * 4; }
    sentence get(stoker::index sample) const {
        return {{std::vector<std::int32_t>(sample % 3 + 1)}};
    }
};

template <class Feed>
asio::awaitable<int> count_batches(Feed& feed) {
    int seen = 0;
    for (;;) {
        auto batch = co_await feed.next();
        if (!batch)
            break;
        ++seen;
    }
    co_return seen;
}

}  // namespace

TEST_CASE("every range of a feed ends, whichever thread goes on after co_await") {
    const recorded::recording all;
    {
        stoker::loader loader{slow_pictures{}, {.batch_size = 4, .num_workers = 2}};
        const simulated_platform platform(quick());
        stoker::device_feed feed{
            std::move(loader), simulated_device(),
            stoker::prepare(&picture::pixels, &device_picture::pixels,
                            stoker::normalize{{0.F, 0.F, 0.F}, {1.F, 1.F, 1.F}})};
        asio::thread_pool threads(3);
        CHECK(asio::co_spawn(threads, count_batches(feed), asio::use_future).get() == batches);
        threads.join();

        stoker::loader collated{sentences{}, {.batch_size = 4}};
        for (const auto& batch : collated)
            CHECK(batch.size() == 4);
    }
    int strays = 0;
    const auto found = all.read(&strays);
    CHECK(strays == 0);
    std::map<std::string, std::set<std::uint64_t>> payloads;
    std::set<long> workers;
    for (const recorded::range& each : found) {
        INFO(each.name << ' ' << each.payload);
        CHECK(each.end_thread != 0);
        payloads[each.name].insert(each.payload);
        const bool makes = each.name == "fetch" || each.name == "collate";
        if (each.process != ::getpid()) {
            CHECK(makes);
            workers.insert(each.process);
            CHECK(each.thread == each.process);
            CHECK(each.end_thread == each.process);
        }
        if (each.name == "copy")
            CHECK(each.end_thread != each.thread);  // the feed's own thread saw it end
    }
    CHECK(workers.size() == 2);
    CHECK(payloads["fetch"].size() == batches);
    CHECK(payloads["collate"].size() == batches);
    CHECK(payloads["copy"].size() == batches);
    CHECK(payloads["prepare"].size() == batches);
    CHECK(payloads.count("wait for batch") == 1);
}
