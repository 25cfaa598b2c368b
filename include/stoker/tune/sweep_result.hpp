#pragma once

#include <optional>
#include <string>
#include <vector>

#include <stoker/loader/loader_options.hpp>
#include <stoker/tune/sweep_row.hpp>

namespace stoker {

/// What a sweep found out.
///
/// Thread safety: a plain value.
struct sweep_result {
    std::vector<sweep_row> rows{};
    double tolerance = 0.05;
    /// The options of the elbow's loader, where the loader tells them.
    std::optional<loader_options> options{};

    /// The row with the fewest workers whose throughput is at most `tolerance` below the best
    /// row's.
    ///
    /// Why so: throughput grows with workers until something else is full (processors, disk, the
    /// loop), then stays level; on the level part the best row is picked by noise, and each worker
    /// beyond its beginning costs memory and processors that training could use.
    /// Throws error{invalid_option} without rows.
    const sweep_row& elbow() const;

    /// How much faster a row is than the one with the fewest workers.
    double speed_up(const sweep_row& row) const;

    /// A table for people, one line a row, the elbow marked, followed by the elbow and its rule.
    /// Spread: half of what lies between the slowest and the fastest epoch, of the median.
    std::string table() const;

    /// The elbow as designated initializers, to paste after the dataset in a loader's constructor:
    /// "{.batch_size = 64, .num_workers = 2}". Without `options` only num_workers is known.
    std::string paste() const;
};

}  // namespace stoker
