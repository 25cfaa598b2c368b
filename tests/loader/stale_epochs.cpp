// Epochs that are broken off: nothing of them comes in later ones.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "loader/loader_datasets.hpp"
#include "support/catch.hpp"

using namespace stoker;
using namespace stoker::test_loader;

namespace {

/// Samples that know in which epoch they were made.
struct indexed_draw {
    std::int64_t value = 0;
    std::uint64_t epoch = 0;
};
struct indexed_draws {
    std::size_t count = 0;
    std::size_t size() const { return count; }
    indexed_draw get(stoker::index i, context& c) const {
        return {static_cast<std::int64_t>(i), c.epoch()};
    }
};

std::vector<std::int64_t> sorted(std::vector<std::int64_t> values) {
    std::sort(values.begin(), values.end());
    return values;
}

}  // namespace

TEST_CASE("taking one batch and starting again gives fresh full epochs", "[loader][B025]") {
    for (const bool persistent : {true, false}) {
        loader loader{indexed_draws{40},
                      {.batch_size = 2,
                       .shuffle = true,
                       .num_workers = 3,
                       .prefetch_factor = 3,
                       .persistent_workers = persistent}};
        const std::jthread other([](const std::stop_token& stop) {  // of the host, at work
            while (!stop.stop_requested())
                std::this_thread::sleep_for(std::chrono::microseconds(100));
        });
        for (int start = 0; start < 2; ++start) {
            for (auto& batch : loader) {
                CHECK(batch[&indexed_draw::epoch](0) == batch.epoch());
                break;
            }
        }
        for (std::uint64_t epoch = 2; epoch < 4; ++epoch) {
            std::vector<std::int64_t> all;
            for (auto& batch : loader) {
                CHECK(batch.epoch() == epoch);
                for (const auto told : batch[&indexed_draw::epoch])
                    CHECK(told == epoch);
                for (const auto value : batch[&indexed_draw::value])
                    all.push_back(value);
            }
            CHECK(all != count_to(40));
            CHECK(sorted(all) == count_to(40));
        }
    }
}
