#include "device/prepare_launch.hpp"

// In place of prepare.cu where there is no nvcc.

namespace stoker::detail {

kernel_launch image_launch() noexcept {
    return nullptr;
}

kernel_launch cast_launch() noexcept {
    return nullptr;
}

}  // namespace stoker::detail
