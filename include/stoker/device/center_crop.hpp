#pragma once

#include <cstdint>

namespace stoker {

/// A part of `prepare`: of each image the rectangle in its middle, as large as the device member.
/// Where the two differ by an odd number, it begins at the lesser of the two pixels. An image that
/// is smaller gets a frame of `fill`.
struct center_crop {
    std::uint8_t fill = 0;
};

}  // namespace stoker
