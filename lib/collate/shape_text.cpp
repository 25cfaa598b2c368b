#include "collate/shape_text.hpp"

#include <stoker/collate/column.hpp>

namespace stoker::detail {

std::string shape_text(std::span<const std::uint64_t> extents) {
    std::string text = "[";
    for (const std::uint64_t extent : extents) {
        if (text.size() > 1)
            text += ", ";
        text += extent == unknown_extent ? "?" : std::to_string(extent);
    }
    return text + "]";
}

}  // namespace stoker::detail
