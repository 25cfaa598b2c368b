#include "sampler/permutation.hpp"

#include <algorithm>
#include <bit>

namespace stoker::detail {

namespace {

/// Bits of all numbers below `size`, and at least one a half.
std::uint32_t width_for(std::uint64_t size) {
    return static_cast<std::uint32_t>(std::bit_width(std::max(size, std::uint64_t{4}) - 1));
}

/// Two rounds, and two more for each factor of 2^half_bits until 24 bits of bias are gone.
std::uint32_t rounds_for(std::uint32_t half_bits, std::uint32_t most) {
    const std::uint32_t pairs = 1 + (24 + half_bits - 1) / half_bits;
    return std::clamp(2 * pairs, std::uint32_t{6}, most);
}

}  // namespace

permutation::permutation(std::uint64_t size, std::uint64_t seed, std::uint64_t epoch) noexcept
    : size_{size},
      left_bits_{(width_for(size) + 1) / 2},
      right_bits_{width_for(size) / 2},
      rounds_{rounds_for(right_bits_, most_rounds)} {
    std::uint64_t state = stream_key(stream_purpose::order, seed, epoch);
    for (std::uint64_t& key : keys_) {
        state += golden_step;
        key = mix64(state);
    }
    odd_ = mix64(state + golden_step) >> 63U;
}

}  // namespace stoker::detail
