#pragma once

#include <stoker/loader/loader_options.hpp>
#include <stoker/loader/memory_use.hpp>
#include "ipc/slab.hpp"

namespace stoker::detail {

/// What a loader with these slots will take. `largest_batch_bytes` stands in for layouts that
/// depend on the samples: the largest batch seen so far, 0 before the first.
memory_use estimate_memory(const slot_geometry& geometry, const loader_options& options,
                           std::uint64_t largest_batch_bytes);

}  // namespace stoker::detail
