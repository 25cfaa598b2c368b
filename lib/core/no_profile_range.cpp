// Ranges without NVTX's headers: none.
#include "core/profile_range.hpp"

namespace stoker::detail {

std::uint64_t profile_range::begin(const char*, std::uint64_t) noexcept {
    return 0;
}

void profile_range::end(std::uint64_t) noexcept {}

}  // namespace stoker::detail
