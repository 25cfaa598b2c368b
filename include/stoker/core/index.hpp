#pragma once

#include <cstdint>
#include <string>

namespace stoker {

/// The number by which a dataset knows a sample: 0 up to, but not including, `dataset.size()`.
///
/// Samplers may count in any integer type; a negative number wraps to a huge index, which no
/// dataset has, and is reported as it was given: "index -1 is out of range".
using index = std::uint64_t;

namespace detail {

/// An index as its giver wrote it: wrapped negatives get their sign back.
///
///     describe_index(7)                       // "7"
///     describe_index(static_cast<index>(-1))  // "-1"
std::string describe_index(index value);

}  // namespace detail

}  // namespace stoker
