#pragma once

#include <concepts>
#include <cstdint>

namespace stoker {

/// A part of `prepare`: images are mirrored, left to right, whose sample says so; after the crop.
///
///     struct image { stoker::tensor<std::uint8_t, 224, 224, 3> pixels; bool flipped; };
///     stoker::horizontal_flip{&image::flipped}
///
/// The worker decides, with the sample's own generator: `s.flipped = context.random.coin(0.5)`.
template <class Sample, class Flag>
struct horizontal_flip {
    static_assert(std::same_as<Flag, bool> || std::same_as<Flag, std::uint8_t>,
                  "stoker: horizontal_flip needs a member of type bool or std::uint8_t");
    Flag Sample::*flipped;
};
template <class Sample, class Flag>
horizontal_flip(Flag Sample::*) -> horizontal_flip<Sample, Flag>;

}  // namespace stoker
