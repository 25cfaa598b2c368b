#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace stoker::detail {

/// "[64, 8, 8]"; an extent of all ones (`dynamic`, `unknown_extent`) is "?".
std::string shape_text(std::span<const std::uint64_t> extents);

}  // namespace stoker::detail
