// The same checks as for f16: all values by definition, rounding wherever it can change.

#include <cmath>
#include <cstdint>
#include <limits>
#include <stoker/tensor/bf16.hpp>
#include <type_traits>

#include "support/catch.hpp"

namespace {

using stoker::bf16;

static_assert(sizeof(bf16) == 2 && std::is_trivially_copyable_v<bf16>);
static_assert(bf16(1.0f).bits() == 0x3f80 && float(bf16::from_bits(0x3f80)) == 1.0f);
static_assert(!std::is_convertible_v<float, bf16>, "what loses digits is explicit");

double defined_value(std::uint16_t bits) {
    const int exponent = (bits >> 7) & 0xff;
    const int fraction = bits & 0x7f;
    const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
    if (exponent == 255) {
        return fraction == 0 ? sign * std::numeric_limits<double>::infinity()
                             : std::numeric_limits<double>::quiet_NaN();
    }
    if (exponent == 0)
        return sign * std::ldexp(fraction, -133);
    return sign * std::ldexp(128 + fraction, exponent - 134);
}

}  // namespace

TEST_CASE("Every bf16 has the value that its bits define, and survives the way to float and back",
          "[tensor]") {
    int wrong = 0;
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
        const auto half = static_cast<std::uint16_t>(bits);
        const double defined = defined_value(half);
        const float value = bf16::from_bits(half);
        if (std::isnan(defined)) {
            wrong += !std::isnan(value) || bf16(value).bits() != (half | 0x40) ? 1 : 0;
        } else {
            wrong += static_cast<double>(value) != defined ? 1 : 0;
            wrong += bf16(value).bits() != half ? 1 : 0;
        }
    }
    CHECK(wrong == 0);
}

TEST_CASE(
    "Between two neighbouring bf16 a float goes to the nearer, from the middle to the even one",
    "[tensor]") {
    int wrong = 0;
    for (std::uint32_t bits = 0; bits < 0x7f7f; ++bits) {
        const auto low = static_cast<std::uint16_t>(bits);
        const auto high = static_cast<std::uint16_t>(bits + 1);
        const auto middle = static_cast<float>((defined_value(low) + defined_value(high)) / 2);
        const std::uint16_t even = (low & 1) == 0 ? low : high;
        for (const float sign : {1.0f, -1.0f}) {
            const std::uint16_t sign_bit = sign < 0 ? 0x8000 : 0;
            const auto rounds_to = [&](float value, std::uint16_t wanted) {
                return bf16(sign * value).bits() == (wanted | sign_bit);
            };
            wrong += rounds_to(middle, even) ? 0 : 1;
            wrong += rounds_to(std::nextafter(middle, 0.0f), low) ? 0 : 1;
            wrong += rounds_to(std::nextafter(middle, std::numeric_limits<float>::infinity()), high)
                         ? 0
                         : 1;
        }
    }
    CHECK(wrong == 0);
}

TEST_CASE("Beyond the range of bf16 lies infinity; a NaN never becomes one", "[tensor]") {
    CHECK(bf16(std::numeric_limits<float>::max()).bits() == 0x7f80);
    CHECK(bf16(-std::numeric_limits<float>::max()).bits() == 0xff80);
    CHECK(bf16(std::numeric_limits<float>::infinity()).bits() == 0x7f80);
    // A NaN with only low bits set would lose them all.
    const float thin = std::bit_cast<float>(0x7f800001u);
    CHECK(std::isnan(static_cast<float>(bf16(thin))));
    CHECK(bf16(-0.0f).bits() == 0x8000);
}
