#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>

#include <stoker/tensor/bf16.hpp>
#include <stoker/tensor/dtype.hpp>
#include <stoker/tensor/f16.hpp>

// What host and GPU say differently, so that kernel bodies need not. Everything here has the same
// bits on both: the fused multiply-add and the rounding to nearest are IEEE 754's, and nothing is
// built with fast-math.

#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#define STOKER_DEVICE_CODE __host__ __device__ __forceinline__
#else
#define STOKER_DEVICE_CODE inline
#endif

namespace stoker::detail {

/// Rounded once.
STOKER_DEVICE_CODE float multiply_add(float value, float factor, float summand) {
#ifdef __CUDA_ARCH__
    return __fmaf_rn(value, factor, summand);
#else
    return std::fma(value, factor, summand);
#endif
}

/// How elements of a floating type are stored, and how a float that is no NaN becomes one.
template <dtype Type>
struct stored;

template <>
struct stored<dtype::f32> {
    using type = float;
    static STOKER_DEVICE_CODE type of(float value) { return value; }
};

template <>
struct stored<dtype::f16> {
    using type = std::uint16_t;
    static STOKER_DEVICE_CODE type of(float value) {
#ifdef __CUDA_ARCH__
        return __half_as_ushort(__float2half_rn(value));
#else
        return f16(value).bits();
#endif
    }
};

template <>
struct stored<dtype::bf16> {
    using type = std::uint16_t;
    static STOKER_DEVICE_CODE type of(float value) {
#ifdef __CUDA_ARCH__
        return __bfloat16_as_ushort(__float2bfloat16_rn(value));
#else
        return bf16(value).bits();
#endif
    }
};

/// Whether a multiple of `Alignment` bytes.
template <std::uintptr_t Alignment>
STOKER_DEVICE_CODE bool is_aligned(const void* pointer) {
    return (reinterpret_cast<std::uintptr_t>(pointer) & (Alignment - 1)) == 0;
}

/// 1, 2 or 4 words at once, from memory that is aligned to as many: one instruction on a GPU. It
/// needs CUDA's own vector types for that: nvcc breaks a memcpy up where a switch follows.
template <int Words>
STOKER_DEVICE_CODE void load_vector(const void* from, std::uint32_t* words) {
#ifdef __CUDA_ARCH__
    if constexpr (Words == 4) {
        const uint4 vector = *static_cast<const uint4*>(from);
        words[0] = vector.x;
        words[1] = vector.y;
        words[2] = vector.z;
        words[3] = vector.w;
    } else if constexpr (Words == 2) {
        const uint2 vector = *static_cast<const uint2*>(from);
        words[0] = vector.x;
        words[1] = vector.y;
    } else {
        words[0] = *static_cast<const std::uint32_t*>(from);
    }
#else
    std::memcpy(words, from, Words * sizeof(std::uint32_t));
#endif
}

/// The same to global memory. In assembly, since nvcc makes single stores of CUDA's vector types
/// where what is stored comes out of branches.
template <int Words>
STOKER_DEVICE_CODE void store_vector(void* to, const std::uint32_t* words) {
    static_assert(Words == 2 || Words == 4);
#ifdef __CUDA_ARCH__
    const std::size_t address = __cvta_generic_to_global(to);
    if constexpr (Words == 4) {
        asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(address), "r"(words[0]),
                     "r"(words[1]), "r"(words[2]), "r"(words[3])
                     : "memory");
    } else {
        asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(address), "r"(words[0]), "r"(words[1])
                     : "memory");
    }
#else
    std::memcpy(to, words, Words * sizeof(std::uint32_t));
#endif
}

/// The lower half of `high:low >> shift`; shift is below 32.
STOKER_DEVICE_CODE std::uint32_t funnel_shift(std::uint32_t low, std::uint32_t high,
                                              std::uint32_t shift) {
#ifdef __CUDA_ARCH__
    return __funnelshift_r(low, high, shift);
#else
    const std::uint64_t both = (static_cast<std::uint64_t>(high) << 32) | low;
    return static_cast<std::uint32_t>(both >> shift);
#endif
}

/// Words of memory from any byte on, by aligned reads: none is touched that holds no byte of them.
template <int Words>
STOKER_DEVICE_CODE void load_words(const std::uint8_t* first, std::uint32_t (&words)[Words]) {
    if (Words == 4 && is_aligned<16>(first)) {
        load_vector<Words>(first, words);
        return;
    }
    const auto misplaced = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(first) & 3u);
    const std::uint8_t* aligned = first - misplaced;
    for (int word = 0; word < Words; ++word)
        load_vector<1>(aligned + 4 * word, &words[word]);
    std::uint32_t last = 0;
    if (misplaced != 0)
        load_vector<1>(aligned + 4 * Words, &last);
    for (int word = 0; word < Words; ++word) {
        const std::uint32_t next = word + 1 < Words ? words[(word + 1) % Words] : last;
        words[word] = funnel_shift(words[word], next, 8 * misplaced);
    }
}

/// Element number `at` of those that words hold, as an unsigned integer of `Bytes` bytes; the
/// number is a constant once loops are unrolled.
template <int Bytes>
STOKER_DEVICE_CODE std::uint64_t element_of(const std::uint32_t* words, int at) {
    if constexpr (Bytes == 8) {
        return (static_cast<std::uint64_t>(words[2 * at + 1]) << 32) | words[2 * at];
    } else {
        constexpr int a_word = 4 / Bytes;
        constexpr std::uint32_t mask = 0xffffffffu >> (32 - 8 * Bytes);
        return (words[at / a_word] >> (8 * Bytes * (at % a_word))) & mask;
    }
}

/// The bits of an element of 2, 4 or 8 bytes, put into words that hold zeros there.
template <class T>
STOKER_DEVICE_CODE void put_element(std::uint32_t* words, int at, T value) {
    if constexpr (sizeof(T) == 8) {
        const auto bits = std::bit_cast<std::uint64_t>(value);
        words[2 * at] = static_cast<std::uint32_t>(bits);
        words[2 * at + 1] = static_cast<std::uint32_t>(bits >> 32);
    } else if constexpr (sizeof(T) == 4) {
        words[at] = std::bit_cast<std::uint32_t>(value);
    } else {
        const std::uint32_t bits = std::bit_cast<std::uint16_t>(value);
        words[at / 2] |= bits << (16 * (at % 2));
    }
}

/// The first `count` of the values, to memory that is aligned to one of them at least: all of them
/// by 8 or 16 bytes at once where they lie right.
template <class T, int Count>
STOKER_DEVICE_CODE void store_run(T* to, const T (&values)[Count], std::uint32_t count) {
    constexpr int words = Count * static_cast<int>(sizeof(T)) / 4;
    constexpr int step = std::gcd(4, words);
    if (count == Count && is_aligned<step * 4>(to)) {
        std::uint32_t packed[words] = {};
        for (int at = 0; at < Count; ++at)
            put_element(packed, at, values[at]);
        auto* bytes = reinterpret_cast<std::uint8_t*>(to);
        for (int at = 0; at < words; at += step)
            store_vector<step>(bytes + 4 * at, packed + at);
    } else {
        for (int at = 0; at < Count; ++at) {
            if (static_cast<std::uint32_t>(at) < count)
                to[at] = values[at];
        }
    }
}

}  // namespace stoker::detail
