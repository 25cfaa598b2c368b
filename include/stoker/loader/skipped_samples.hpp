#pragma once

#include <cstdint>
#include <vector>

#include <stoker/core/error.hpp>

namespace stoker {

/// The samples that a loader with `on_bad::skip` has left out, or replaced with `on_bad::replace`.
///
/// Thread safety: a plain value.
struct skipped_samples {
    std::uint64_t count = 0;  ///< of all, since the loader was made
    /// The latest 1,000 at most, in the order in which their batches came: each with sample, text,
    /// type, file, worker and pid of its error. One whose error was too long for its batch is
    /// counted only.
    std::vector<error_details> latest{};
};

}  // namespace stoker
