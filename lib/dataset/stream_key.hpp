#pragma once
// Keys for everything random, from (seed, epoch).
//
// seed + epoch is the usual mistake: (seed 1, epoch 0) is then (seed 0, epoch 1). Here the seed is
// scattered over 64 bits before the epoch is added, and the sum is scattered again. Both steps are
// bijections, so the epochs of one seed never share a key; two seeds do with probability 2^-64.

#include <cstdint>

namespace stoker::detail {

/// What a key is for: the same (seed, epoch) gives unrelated keys for different purposes.
enum class stream_purpose : std::uint64_t {
    sample = 0x736d'706c,        ///< the generator of a sample
    order = 0x6f72'6472,         ///< the order of an epoch
    shards = 0x7368'6172,         ///< the order of a stream's shards
    split = 0x7370'6c69,         ///< which part of a random_split a sample falls into
    free_standing = 0x6672'6565  ///< a generator made by users from a seed alone
};

/// Scatters 64 bits over 64 bits, a bijection: the finalizer of SplitMix64 (Steele, Lea and Flood,
/// "Fast splittable pseudorandom number generators", OOPSLA 2014; constants of Stafford's mix 13).
constexpr std::uint64_t mix64(std::uint64_t value) {
    value = (value ^ (value >> 30U)) * 0xbf58'476d'1ce4'e5b9U;
    value = (value ^ (value >> 27U)) * 0x94d0'49bb'1331'11ebU;
    return value ^ (value >> 31U);
}

/// The odd constant nearest to 2^64 / golden ratio: steps that SplitMix64 takes between outputs.
inline constexpr std::uint64_t golden_step = 0x9e37'79b9'7f4a'7c15U;

constexpr std::uint64_t stream_key(stream_purpose purpose, std::uint64_t seed,
                                   std::uint64_t epoch) {
    const std::uint64_t scattered = mix64(seed + golden_step * static_cast<std::uint64_t>(purpose));
    return mix64(scattered + golden_step * epoch);
}

}  // namespace stoker::detail
