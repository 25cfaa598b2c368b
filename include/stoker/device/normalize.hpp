#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

namespace stoker {

/// A part of `prepare`: (pixel / 255 − mean) / deviation, one mean and one deviation a channel, as
/// torchvision's Normalize after ToTensor.
///
///     stoker::normalize{{0.485f, 0.456f, 0.406f}, {0.229f, 0.224f, 0.225f}}
///
/// It is computed as fma(pixel, 1 / (255 × deviation), −mean / deviation), whose two constants are
/// rounded to float once, and rounded to nearest: the same bits on the host and on every GPU.
///
/// Thread safety: like an array.
template <std::size_t Channels>
class normalize {
  public:
    constexpr normalize(const float (&mean)[Channels], const float (&deviation)[Channels]) {
        std::copy_n(mean, Channels, mean_.begin());
        std::copy_n(deviation, Channels, deviation_.begin());
    }

    constexpr const std::array<float, Channels>& mean() const { return mean_; }
    constexpr const std::array<float, Channels>& deviation() const { return deviation_; }

  private:
    std::array<float, Channels> mean_{};
    std::array<float, Channels> deviation_{};
};

}  // namespace stoker
