// The same program without a GPU: the host device, with the interface that users see.

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <numeric>
#include <vector>

#include <stoker/collate/collate.hpp>
#include <stoker/device/prepare.hpp>
#include <stoker/runtime/rethrow.hpp>
#include "device/device_rig.hpp"

using namespace device_rig;

namespace {

boost::asio::awaitable<void> read_epochs(stoker::device_feed<words>& feed, int epochs, int& good) {
    for (int epoch = 0; epoch < epochs; ++epoch) {
        for (;;) {
            auto batch = co_await feed.next();
            if (!batch)
                break;
            auto on = batch.on(nullptr);
            auto [values, label] = on.columns();
            const auto row = batch.indices().size() - 1;
            good += values(row, 3) == word_of(batch.indices()[row], 3) &&
                    on[&words::label][row] == label[row] && on["label"].extent(0) == batch.size();
            co_await feed.completed(nullptr);
        }
    }
}

struct picture {
    stoker::tensor<std::uint8_t, 4, 6, 3> pixels;
    std::int64_t label;
};
struct device_picture {
    stoker::tensor<float, 3, 4, 6> pixels;
    std::int64_t label;
};
struct pictures {
    std::size_t size() const { return 12; }
    picture get(stoker::index number) const {
        picture made{};
        made.pixels(1, 2, 2) = static_cast<std::uint8_t>(number * 20);
        made.label = static_cast<std::int64_t>(number);
        return made;
    }
};

struct summed {
    stoker::tensor<std::int64_t, stoker::dynamic> sums;
};

}  // namespace

TEST_CASE("programs for devices run on the host") {
    for (const int workers : {0, 2}) {
        stoker::loader loader{word_dataset{64}, {.batch_size = 8, .num_workers = workers}};
        stoker::device_feed feed{std::move(loader), stoker::host_device()};
        boost::asio::io_context io;
        int good = 0;
        boost::asio::co_spawn(io, read_epochs(feed, 2, good), stoker::rethrow);
        io.run();
        CHECK(good == 16);
        CHECK(feed.stats().mode == stoker::pinning::none);
        CHECK(feed.stats().pinned_bytes == 0);
        CHECK(feed.size() == 64);
        CHECK(feed.length() == 8);
        CHECK(feed.options().batch_size == 8);
    }
}

TEST_CASE("batches of the host device may be kept while others come") {
    stoker::loader loader{word_dataset{32}, {.batch_size = 4}};
    stoker::device_feed feed{std::move(loader), stoker::host_device(),
                             stoker::feed_options{.hold = 8}};
    std::vector<stoker::device_batch<words>> kept;
    while (auto batch = feed.next_blocking())
        kept.push_back(std::move(batch));
    REQUIRE(kept.size() == 8);
    for (auto& batch : kept)
        CHECK(batch.on(nullptr)[&words::values](0, 5) == word_of(batch.indices()[0], 5));
}

TEST_CASE("a preparation runs on the host as on a device") {
    feed_plan plan;
    plan.prepared = true;
    const auto feed = make_feed(plan, stoker::host_device());
    for (int i = 0; i < 40; ++i) {
        const device_lease batch = feed->next_blocking();
        const auto* const found = reinterpret_cast<const std::uint32_t*>(batch.record().data);
        REQUIRE(found[7] == (word_of(batch.record().indices[0], 7) ^ turn_over::mask));
    }
    feed->close();
}

TEST_CASE("prepared batches have the device's own struct") {
    stoker::loader loader{pictures{}, {.batch_size = 4}};
    stoker::device_feed feed{
        std::move(loader), stoker::host_device(), stoker::feed_options{.depth = 1},
        stoker::prepare(&picture::pixels, &device_picture::pixels,
                        stoker::normalize{{0.0f, 0.0f, 0.0f}, {1.0f, 1.0f, 1.0f}})};
    int batches = 0;
    while (auto batch = feed.next_blocking()) {
        auto on = batch.on(nullptr);
        for (std::size_t row = 0; row < batch.size(); ++row) {
            const auto number = batch.indices()[row];
            CHECK(on[&device_picture::label][row] == static_cast<std::int64_t>(number));
            CHECK(on[&device_picture::pixels](row, 2, 1, 2) ==
                  Approx(static_cast<double>(number) * 20 / 255));
            CHECK(on[&device_picture::pixels](row, 0, 1, 2) == 0.0f);
        }
        ++batches;
    }
    CHECK(batches == 3);
}

TEST_CASE("what a collate of the user's made is accessed by its struct") {
    stoker::loader loader{
        word_dataset{12},
        {.batch_size = 4},
        stoker::collate{[](std::span<const words> samples, stoker::writer<summed>& out) {
            out.shape(&summed::sums, samples.size());
            auto sums = out[&summed::sums];
            for (std::size_t row = 0; row < samples.size(); ++row)
                sums[row] = samples[row].label + 100;
        }}};
    stoker::device_feed feed{std::move(loader), stoker::host_device()};
    while (auto batch = feed.next_blocking()) {
        const auto on = batch.on(nullptr);
        CHECK(on[&summed::sums][0] == static_cast<std::int64_t>(batch.indices()[0]) + 100);
    }
    CHECK(feed.stats().batches == 3);
}

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)  // theirs ends the program
TEST_CASE("memory that the host does not have is an error with the call") {
    void* memory = nullptr;
    CHECK(stoker::detail::host_table().allocate(&memory, std::size_t{1} << 62) ==
          cuda_code::out_of_memory);
}
#endif
