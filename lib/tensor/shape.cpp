#include <string>

#include <stoker/core/error.hpp>
#include <stoker/tensor/shape.hpp>

namespace stoker::detail {

void throw_extent_mismatch(std::size_t axis, std::size_t given, std::size_t wanted) {
    throw error({.code = errc::shape_mismatch,
                 .text = "axis " + std::to_string(axis) + " of a tensor is given " +
                         std::to_string(given) + ", but its type says " + std::to_string(wanted),
                 .remedy = "Give the extents of the type, or make that extent stoker::dynamic."});
}

}  // namespace stoker::detail
