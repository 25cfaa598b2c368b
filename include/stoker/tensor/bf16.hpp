#pragma once

#include <bit>
#include <cstdint>

#include <stoker/tensor/dtype.hpp>

namespace stoker {

/// bfloat16, for storage and transport: the upper half of a float, its range with 8 bits of
/// precision. Arithmetic happens in float, to which it converts by itself and exactly.
///
/// Thread safety: that of a built-in number.
class bf16 {
  public:
    constexpr bf16() = default;
    /// Rounds to nearest, ties to even; beyond the range infinity; a NaN stays a (quiet) NaN.
    explicit constexpr bf16(float value) noexcept : bits_(round(value)) {}
    /// The number that these 16 bits stand for.
    static constexpr bf16 from_bits(std::uint16_t bits) noexcept {
        bf16 result;
        result.bits_ = bits;
        return result;
    }

    constexpr std::uint16_t bits() const noexcept { return bits_; }
    constexpr operator float() const noexcept {
        return std::bit_cast<float>(static_cast<std::uint32_t>(bits_) << 16);
    }

  private:
    static constexpr std::uint16_t round(float value) noexcept {
        const auto all = std::bit_cast<std::uint32_t>(value);
        if ((all & 0x7fffffffu) > 0x7f800000u) {  // rounding could carry a NaN into infinity
            return static_cast<std::uint16_t>((all >> 16) | 0x40u);
        }
        return static_cast<std::uint16_t>((all + 0x7fffu + ((all >> 16) & 1u)) >> 16);
    }

    std::uint16_t bits_ = 0;
};

template <>
struct detail::dtype_trait<bf16> {
    static constexpr dtype value = dtype::bf16;
};

}  // namespace stoker
