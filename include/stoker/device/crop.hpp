#pragma once

#include <cstdint>

namespace stoker {

/// A part of `prepare`: of each image the rectangle, as large as the device member, whose upper
/// left corner the workers put into two members of the sample. Any values: pixels outside of the
/// image are `fill` in all channels, before they are normalised, as in torchvision's RandomCrop.
///
///     struct image { stoker::tensor<std::uint8_t, 256, 256, 3> pixels; std::int32_t top, left; };
///     stoker::crop{&image::top, &image::left}
template <class Sample>
struct crop {
    std::int32_t Sample::*top;
    std::int32_t Sample::*left;
    std::uint8_t fill = 0;
};
template <class Sample>
crop(std::int32_t Sample::*, std::int32_t Sample::*, int = 0) -> crop<Sample>;

}  // namespace stoker
