// Whatever a batch is made of, it crosses the bus whole, by one copy, from pinned memory.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <stoker/stoker.hpp>
#include "device/device_rig.hpp"

using namespace device_rig;

namespace {

struct inner {
    stoker::tensor<float, 3> box;
    std::optional<std::int32_t> score;
};

struct nested {
    inner first;
    stoker::padded<std::int32_t, -1> tokens;
    stoker::ragged<std::uint16_t> marks;
    std::string path;
    std::int64_t label;
};

struct nested_dataset {
    std::size_t size() const { return 40; }
    nested get(stoker::index sample) const {
        const auto number = static_cast<std::int32_t>(sample);
        nested made;
        made.first.box.fill(static_cast<float>(sample));
        if (sample % 2 == 0)
            made.first.score = number;
        made.tokens = std::vector<std::int32_t>(sample % 5 + 1, number);
        made.marks = std::vector<std::uint16_t>(sample % 3, static_cast<std::uint16_t>(sample));
        made.path = "file " + std::to_string(sample);
        made.label = number;
        return made;
    }
};

struct collated {
    stoker::tensor<std::int64_t, stoker::dynamic, 2> pairs;
    stoker::tensor<float, stoker::dynamic> weights;
};

auto in_pairs() {
    return stoker::collate{[](std::span<const words> samples, stoker::writer<collated>& out) {
        out.shape(&collated::pairs, samples.size(), 2);
        out.shape(&collated::weights, samples.size());
        auto pairs = out[&collated::pairs];
        auto weights = out[&collated::weights];
        for (std::size_t row = 0; row < samples.size(); ++row) {
            pairs(row, 0) = samples[row].label;
            pairs(row, 1) = -samples[row].label;
            weights[row] = 0.5f;
        }
    }};
}

/// A stream for looks by the test itself, which may read the simulated device's memory.
struct reader {
    reader() { REQUIRE(simulated_platform::table().create_stream(&stream, 0, 0) == 0); }
    ~reader() { simulated_platform::table().destroy_stream(stream); }
    reader(const reader&) = delete;
    reader& operator=(const reader&) = delete;
    template <class Batch>
    auto whole(Batch& batch) const {
        const auto on = batch.on(stream);
        REQUIRE(simulated_platform::table().synchronize_stream(stream) == 0);
        return on;
    }
    cuda_stream stream = nullptr;
};

/// Feeds an epoch of nested batches, and looks at every column of each.
stoker::feed_stats feed_nested(const stoker::feed_options& options) {
    stoker::loader loader{nested_dataset{}, {.batch_size = 4, .num_workers = 1}};
    stoker::device_feed feed{std::move(loader), simulated_device(), options};
    const reader eyes;
    int batches = 0;
    while (auto batch = feed.next_blocking()) {
        const auto on = eyes.whole(batch);
        const auto tokens = on[&nested::tokens];
        const auto marks = on[&nested::marks];
        const auto paths = on[&nested::path];
        const auto first = on[&nested::first];
        for (std::size_t row = 0; row < batch.size(); ++row) {
            const auto sample = static_cast<std::size_t>(batch.indices()[row]);
            const auto number = static_cast<std::int32_t>(sample);
            CHECK(on[&nested::label][row] == number);
            CHECK(first[&inner::box](row, 2) == static_cast<float>(sample));
            CHECK(first[&inner::score].has_value(row) == (sample % 2 == 0));
            CHECK(tokens.lengths()[row] == static_cast<std::int64_t>(sample % 5 + 1));
            CHECK(tokens(row, 0) == number);
            CHECK(marks[row].size() == sample % 3);
            CHECK(paths[row] == "file " + std::to_string(sample));
        }
        ++batches;
    }
    CHECK(batches == 10);
    return feed.stats();
}

}  // namespace

TEST_CASE("nested members of any shape come from pinned memory, by one copy a batch [B161]") {
    const simulated_platform platform(quick());
    const stoker::feed_stats stats = feed_nested({});
    CHECK(stats.copies == 10);
    CHECK(stats.pageable == 0);
    CHECK(platform.traffic().host_to_device_copies == 10);
    CHECK(platform.traffic().pageable_copies == 0);
    CHECK(platform.violations() == std::vector<std::string>{});
}

TEST_CASE("what a collate of the user's makes is pinned like everything else [B161]") {
    const simulated_platform platform(quick());
    stoker::loader loader{word_dataset{40}, {.batch_size = 4, .num_workers = 1}, in_pairs()};
    stoker::device_feed feed{std::move(loader), simulated_device()};
    const reader eyes;
    while (auto batch = feed.next_blocking()) {
        const auto on = eyes.whole(batch);
        for (std::size_t row = 0; row < batch.size(); ++row) {
            CHECK(on[&collated::pairs](row, 1) == -static_cast<std::int64_t>(batch.indices()[row]));
            CHECK(on[&collated::weights][row] == 0.5f);
        }
    }
    CHECK(feed.stats().copies == 10);
    CHECK(feed.stats().pageable == 0);
    CHECK(platform.traffic().pageable_copies == 0);
}

TEST_CASE("nested members that cannot be pinned are told of, and come all the same [B161]") {
    simulated_platform platform(quick());
    platform.fail("cudaHostRegister", cuda_code::not_supported, 0, 1000);
    platform.fail("cudaHostAlloc", cuda_code::out_of_memory, 0, 1000);
    std::string told;
    stoker::feed_options options;
    options.on_notice = [&](std::string_view text) { told += text; };
    const stoker::feed_stats stats = feed_nested(options);
    CHECK(stats.mode == stoker::pinning::pageable);
    CHECK(stats.pageable == stats.copies);
    CHECK(contains(told, "pageable"));
}

TEST_CASE("slots that a busy device reads long after are whole by then [B162]") {
    simulation how = quick();
    how.longest_delay = std::chrono::milliseconds(20);
    simulated_platform platform(how);
    feed_plan plan;
    plan.loading.num_workers = 2;
    plan.loading.prefetch_factor = 1;  // as few slots as there may be
    CHECK(run_feed(platform, plan, 60) == 0);
    CHECK(platform.violations() == std::vector<std::string>{});
}
