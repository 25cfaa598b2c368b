#pragma once

#include <cstddef>
#include <cstdint>

#include <stoker/collate/column.hpp>

namespace stoker::detail {

/// Whether `records`, one a column, describe a batch of `samples` samples in the `bytes` bytes at
/// `data`, as its schema says: rank, known extents, axis 0, place; and whether lengths and offsets
/// among the contents lead nowhere outside of the columns that they are of. For layouts that
/// another process has written. `records` must not be in memory that it can still write.
bool fits(const schema& described, std::uint64_t samples, const std::byte* data,
          std::uint64_t bytes, const column_record* records);

}  // namespace stoker::detail
