#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <stoker/tune/sweep_row.hpp>

namespace stoker {

/// How a sweep measures. Checked by `sweep`, which names option, value and range.
struct sweep_options {
    /// Values to try, each 0 up, in this order; at least one.
    std::vector<int> num_workers{0, 1, 2, 4, 8};
    /// Timed epochs a value, 1 up; the median counts. More for epochs that are short or uneven.
    int repeats = 5;
    /// Epochs before them that do not count, 1 up: they start workers and touch memory for the
    /// first time, and are where memory is measured.
    int warm_up_epochs = 1;
    /// Most batches that are read of an epoch; 0: all. For datasets whose epochs take too long, and
    /// needed where epochs have no end. Then "an epoch" in the result is this many batches.
    std::uint64_t batches_per_epoch = 0;
    /// How far below the best throughput the elbow may lie: 0 up to, but not including, 1.
    double tolerance = 0.05;
    /// Called with each row as soon as it is measured.
    std::function<void(const sweep_row&)> on_row{};
};

}  // namespace stoker
