#pragma once

#include <cstdint>

namespace stoker::detail {

/// Batches that `size` samples make: the last one may be smaller, and is left out with `drop_last`.
///
///     batch_count(10, 4, false)  // 3: 4 + 4 + 2
///     batch_count(10, 4, true)   // 2
///
/// Throws error{invalid_option} when `batch_size` is 0.
std::uint64_t batch_count(std::uint64_t size, std::uint64_t batch_size, bool drop_last);

/// Throws error{invalid_option} when `batch_size` is 0.
void require_batch_size(std::uint64_t batch_size);

}  // namespace stoker::detail
