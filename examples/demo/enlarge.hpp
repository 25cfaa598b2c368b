#pragma once

#include <cstddef>
#include <cstdint>

#include <stoker/dataset/context.hpp>
#include <stoker/tensor/tensor.hpp>

#include "digits.hpp"

namespace demo {

inline constexpr std::size_t side = 64;

/// A digit as the model sees it: grey from 0 to 255.
struct picture {
    stoker::tensor<std::uint8_t, side, side> pixels;
    std::int64_t label;
};

/// How a digit is put onto its picture.
struct placement {
    float angle = 0;  ///< radians, clockwise
    float scale = 1;  ///< of the size that fills the picture
    float right = 0;  ///< pixels of the picture
    float down = 0;   ///< pixels of the picture
};

/// Draws the digit, eight times as large and interpolated between its pixels, on black.
picture draw(const digit& source, const placement& where);

/// As it was scanned: for the digits that the model is tested on.
picture enlarge(const digit& source);

/// Turned, scaled and shifted a little, by the sample's own generator: the same digit looks
/// different in each epoch, and the same whichever worker draws it.
picture enlarge_at_random(const digit& source, stoker::context& context);

}  // namespace demo
