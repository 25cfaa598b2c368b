#pragma once

#include <cstdint>

namespace stoker {

/// Where a worker_init hook runs: it is called with one of these once in each worker, before the
/// dataset's `open()` and before the first sample.
struct worker_info {
    int id = 0;              ///< number of the worker, from 0; 0 when the calling process loads
    int num_workers = 0;     ///< 0 when the calling process loads
    std::uint64_t seed = 0;  ///< the loader's, the same for all workers
};

}  // namespace stoker
