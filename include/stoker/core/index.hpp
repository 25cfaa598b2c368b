#pragma once

#include <cstdint>

namespace stoker {

/// The number by which a dataset knows a sample: 0 up to, but not including, `dataset.size()`.
using index = std::uint64_t;

}  // namespace stoker
