#pragma once

#include <cstdint>

namespace stoker {

/// Where an image's channels stand in its shape: [channels, height, width] (NCHW) or [height,
/// width, channels] (NHWC). `prepare` reads it off the device member's type; it is to be told where
/// both would do, as for tensor<f16, 3, 3, 3>.
enum class channels : std::uint8_t { first, last };

}  // namespace stoker
