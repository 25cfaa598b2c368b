// Every one of the 65,536 numbers is checked against its definition in arithmetic (ldexp), which
// shares nothing with the bit operations under test; and rounding at every place where it can
// change: the middle between two neighbours and the floats right beside it.

#include <cmath>
#include <cstdint>
#include <limits>
#include <stoker/tensor/f16.hpp>
#include <type_traits>

#include "support/catch.hpp"

namespace {

using stoker::f16;

static_assert(sizeof(f16) == 2 && std::is_trivially_copyable_v<f16>);
static_assert(f16(1.0f).bits() == 0x3c00 && float(f16::from_bits(0x3c00)) == 1.0f);
static_assert(!std::is_convertible_v<float, f16>, "what loses digits is explicit");

float defined_value(std::uint16_t bits) {
    const int exponent = (bits >> 10) & 0x1f;
    const int fraction = bits & 0x3ff;
    const float sign = (bits & 0x8000) != 0 ? -1.0f : 1.0f;
    if (exponent == 31) {
        return fraction == 0 ? sign * std::numeric_limits<float>::infinity()
                             : std::numeric_limits<float>::quiet_NaN();
    }
    if (exponent == 0)
        return sign * std::ldexp(static_cast<float>(fraction), -24);
    return sign * std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
}

}  // namespace

TEST_CASE("Every f16 has the value that its bits define, and survives the way to float and back",
          "[tensor]") {
    int wrong = 0;
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
        const auto half = static_cast<std::uint16_t>(bits);
        const float defined = defined_value(half);
        const float value = f16::from_bits(half);
        if (std::isnan(defined)) {
            const std::uint16_t back = f16(value).bits();
            wrong += !std::isnan(value) || back != (half | 0x200) ? 1 : 0;  // quiet, payload kept
        } else {
            wrong += value != defined || std::signbit(value) != std::signbit(defined) ? 1 : 0;
            wrong += f16(value).bits() != half ? 1 : 0;
        }
    }
    CHECK(wrong == 0);
}

TEST_CASE(
    "Between two neighbouring f16 a float goes to the nearer, from the middle to the even one",
    "[tensor]") {
    int wrong = 0;
    for (std::uint32_t bits = 0; bits < 0x7bff; ++bits) {
        const auto low = static_cast<std::uint16_t>(bits);
        const auto high = static_cast<std::uint16_t>(bits + 1);
        const float middle = (defined_value(low) + defined_value(high)) / 2;  // exact in float
        const std::uint16_t even = (low & 1) == 0 ? low : high;
        for (const float sign : {1.0f, -1.0f}) {
            const std::uint16_t sign_bit = sign < 0 ? 0x8000 : 0;
            const auto rounds_to = [&](float value, std::uint16_t wanted) {
                return f16(sign * value).bits() == (wanted | sign_bit);
            };
            wrong += rounds_to(middle, even) ? 0 : 1;
            wrong += rounds_to(std::nextafter(middle, 0.0f), low) ? 0 : 1;
            wrong += rounds_to(std::nextafter(middle, 1e6f), high) ? 0 : 1;
        }
    }
    CHECK(wrong == 0);
}

TEST_CASE("Beyond the range of f16 lies infinity, below its smallest number zero", "[tensor]") {
    CHECK(f16(65504.0f).bits() == 0x7bff);
    CHECK(f16(65519.996f).bits() == 0x7bff);
    CHECK(f16(65520.0f).bits() == 0x7c00);
    CHECK(f16(-1e30f).bits() == 0xfc00);
    CHECK(f16(std::numeric_limits<float>::infinity()).bits() == 0x7c00);
    CHECK(f16(0x1p-25f).bits() == 0);  // the middle between 0 and 2^-24: even
    CHECK(f16(0x1.000002p-25f).bits() == 1);
    CHECK(f16(1e-30f).bits() == 0);
    CHECK(f16(-0.0f).bits() == 0x8000);
    CHECK(f16(std::numeric_limits<float>::denorm_min()).bits() == 0);
}
