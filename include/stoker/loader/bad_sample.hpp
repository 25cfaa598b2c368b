#pragma once

#include <cstdint>

#include <stoker/core/error.hpp>
#include <stoker/core/index.hpp>
#include <stoker/dataset/random.hpp>

namespace stoker {

/// A sample that failed, or that kills each worker that makes it, as a `replace_bad` function sees
/// it.
///
/// Thread safety: a plain value.
struct bad_sample {
    stoker::index sample;    ///< the one that failed: the wanted one, or its last replacement
    stoker::index wanted;    ///< the one that the sampler asked for
    int attempt = 1;         ///< 1 for the first replacement in this place, then 2 …
    std::uint64_t size = 0;  ///< of the dataset: replacements are less than it
    std::uint64_t epoch = 0;
    std::uint64_t position = 0;  ///< of the place in its epoch, as `context::position()`
    /// Keyed by (seed, epoch, position, attempt): the same numbers for any number of workers.
    stoker::random random;
    error_details failure{};  ///< what happened to `sample`
};

}  // namespace stoker
