#pragma once

#include <bit>
#include <cstdint>

#include <stoker/tensor/dtype.hpp>

namespace stoker {

/// IEEE 754 binary16, for storage and transport: 5 bits of exponent, 10 of fraction, up to 65504.
/// Arithmetic happens in float, to which it converts by itself and exactly.
///
/// Thread safety: that of a built-in number.
class f16 {
  public:
    constexpr f16() = default;
    /// Rounds to nearest, ties to even; beyond the range infinity; a NaN stays a (quiet) NaN.
    explicit constexpr f16(float value) noexcept : bits_(round(value)) {}
    /// The number that these 16 bits stand for.
    static constexpr f16 from_bits(std::uint16_t bits) noexcept {
        f16 result;
        result.bits_ = bits;
        return result;
    }

    constexpr std::uint16_t bits() const noexcept { return bits_; }
    constexpr operator float() const noexcept { return widen(bits_); }

  private:
    static constexpr std::uint16_t round(float value) noexcept;
    static constexpr float widen(std::uint16_t bits) noexcept;

    std::uint16_t bits_ = 0;
};

constexpr std::uint16_t f16::round(float value) noexcept {
    const auto all = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = (all >> 16) & 0x8000u;
    const std::uint32_t magnitude = all & 0x7fffffffu;
    std::uint32_t half = 0;
    if (magnitude > 0x7f800000u) {  // NaN: the upper fraction bits, made quiet
        half = 0x7e00u | ((magnitude >> 13) & 0x3ffu);
    } else if (magnitude >= 0x477ff000u) {  // 65520 and up round to infinity
        half = 0x7c00u;
    } else if (magnitude >= 0x38800000u) {  // normal: rebias 127 to 15; a carry is a new exponent
        const std::uint32_t odd = (magnitude >> 13) & 1u;
        half = (magnitude - 0x38000000u + 0xfffu + odd) >> 13;
    } else if (magnitude >= 0x33000000u) {  // subnormal: multiples of 2^-24
        const std::uint32_t shift = 126u - (magnitude >> 23);
        const std::uint32_t fraction = (magnitude & 0x7fffffu) | 0x800000u;
        const std::uint32_t rest = fraction & ((1u << shift) - 1u);
        const std::uint32_t middle = 1u << (shift - 1u);
        half = fraction >> shift;
        if (rest > middle || (rest == middle && (half & 1u) != 0))
            ++half;
    }
    return static_cast<std::uint16_t>(sign | half);
}

constexpr float f16::widen(std::uint16_t bits) noexcept {
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
    const std::uint32_t exponent = (bits >> 10) & 0x1fu;
    const std::uint32_t fraction = bits & 0x3ffu;
    if (exponent == 0) {  // zero and subnormals: fraction × 2^-24, exact in float
        const float value = static_cast<float>(fraction) * 0x1p-24f;
        return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(value));
    }
    const std::uint32_t wide = exponent == 0x1fu ? 0xffu : exponent + 112u;
    return std::bit_cast<float>(sign | (wide << 23) | (fraction << 13));
}

template <>
struct detail::dtype_trait<f16> {
    static constexpr dtype value = dtype::f16;
};

}  // namespace stoker
