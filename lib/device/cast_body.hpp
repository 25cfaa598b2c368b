#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <stoker/device/cast_rules.hpp>
#include "device/device_code.hpp"
#include "device/prepare_job.hpp"

// The body of the kernel that converts numbers and gathers windows of them, compiled for GPUs by
// nvcc and for the host by the C++ compiler, with equal bits, those of NaNs included.
//
// One call makes four elements. The kernel is compiled once for each size of a source element and
// each target type; which type of that size it is, is asked at run time, the same for all threads:
// 20 variants in place of 60, and memory is what it waits for.

namespace stoker::detail {

/// Elements that one call makes.
inline constexpr std::uint32_t elements_a_group = 4;

/// An unsigned integer of that many bytes: the bits of any element.
template <int Bytes>
using raw_bits = std::conditional_t<
    Bytes == 1, std::uint8_t,
    std::conditional_t<Bytes == 2, std::uint16_t,
                       std::conditional_t<Bytes == 4, std::uint32_t, std::uint64_t>>>;

/// Rounded to nearest. A NaN keeps what fits of its bits: compilers and GPUs differ there.
STOKER_DEVICE_CODE float narrowed(double value) {
    if (value == value)
        return static_cast<float>(value);
    const auto bits = std::bit_cast<std::uint64_t>(value);
    const auto sign = static_cast<std::uint32_t>(bits >> 63) << 31;
    const auto fraction = static_cast<std::uint32_t>(bits >> 29) & 0x3fffffu;
    return std::bit_cast<float>(sign | 0x7fc00000u | fraction);
}

/// What integers of all types become when they are to be integers again: the same modulo 2^64.
STOKER_DEVICE_CODE std::int64_t as_integer(std::uint64_t raw, dtype type) {
    switch (type) {
        case dtype::i8:
            return static_cast<std::int8_t>(raw);
        case dtype::i16:
            return static_cast<std::int16_t>(raw);
        case dtype::i32:
            return static_cast<std::int32_t>(raw);
        default:  // unsigned ones were widened by zeros
            return static_cast<std::int64_t>(raw);
    }
}

template <int SourceBytes>
STOKER_DEVICE_CODE float as_float(raw_bits<SourceBytes> raw, dtype type) {
    if constexpr (SourceBytes == 2) {
        if (type == dtype::f16)
            return f16::from_bits(raw);
        if (type == dtype::bf16)
            return bf16::from_bits(raw);
    }
    if constexpr (SourceBytes == 4) {
        if (type == dtype::f32)
            return std::bit_cast<float>(raw);
    }
    if constexpr (SourceBytes == 8) {
        if (type == dtype::f64)
            return narrowed(std::bit_cast<double>(raw));
        if (type == dtype::u64)
            return static_cast<float>(raw);
    }
    return static_cast<float>(as_integer(raw, type));
}

/// An element of `Target` from the bits of a source element. f16 and bf16 come by integer
/// arithmetic on GPUs, too: their instructions forget which NaN it was.
template <int SourceBytes, class Target>
STOKER_DEVICE_CODE Target converted(raw_bits<SourceBytes> raw, dtype type) {
    if constexpr (std::is_integral_v<Target>) {
        return static_cast<Target>(as_integer(raw, type));
    } else {
        return Target(as_float<SourceBytes>(raw, type));
    }
}

/// One variant: bytes of a source element, and the type of the target (i32, i64, f32, f16, bf16).
template <int SourceBytes, class Target>
struct cast_body {
    using source_type = raw_bits<SourceBytes>;

    /// Makes elements 4 × `group` up to 4 × `group` + 3 of row `row`, so far as there are any.
    static STOKER_DEVICE_CODE void make_group(const cast_job& job, std::uint64_t row,
                                              std::uint64_t group) {
        const std::uint64_t first = elements_a_group * group;
        const std::uint64_t left_over = job.row_size - first;
        const auto count =
            static_cast<std::uint32_t>(left_over < elements_a_group ? left_over : elements_a_group);
        const std::int64_t offset = job.offset != nullptr ? job.offset[row] : job.common_offset;
        const auto* source =
            static_cast<const source_type*>(job.source) + row * job.source_row_size;
        // Before the row is a huge unsigned number.
        const std::uint64_t from = first + static_cast<std::uint64_t>(offset);
        const std::uint64_t size = job.source_row_size;
        const bool inside =
            count == elements_a_group && from < size && size - from >= elements_a_group;
        source_type raw[elements_a_group] = {};
        load(source + from, inside, count, from, size, raw);
        Target values[elements_a_group];
        for (int at = 0; at < 4; ++at) {
            const bool found = from + static_cast<std::uint32_t>(at) < size;
            values[at] = found ? converted<SourceBytes, Target>(raw[at], job.source_type)
                               : Target(filling(job.fill));
        }
        store_run(static_cast<Target*>(job.target) + row * job.row_size + first, values, count);
    }

  private:
    /// The bits of those of four elements that are there.
    static STOKER_DEVICE_CODE void load(const source_type* from, bool all, std::uint32_t count,
                                        std::uint64_t number, std::uint64_t size,
                                        source_type (&raw)[elements_a_group]) {
        constexpr int words = SourceBytes;
        constexpr int step = words < 4 ? words : 4;
        if (all && is_aligned<4 * step>(from)) {
            std::uint32_t packed[words];
            for (int at = 0; at < words; at += step)
                load_vector<step>(reinterpret_cast<const std::uint8_t*>(from) + 4 * at,
                                  packed + at);
            for (int at = 0; at < 4; ++at)
                raw[at] = static_cast<source_type>(element_of<SourceBytes>(packed, at));
        } else {
            for (std::uint32_t at = 0; at < elements_a_group; ++at) {
                if (at < count && number + at < size)
                    raw[at] = from[at];
            }
        }
    }

    static STOKER_DEVICE_CODE auto filling(std::int32_t fill) {
        if constexpr (std::is_integral_v<Target>) {
            return fill;
        } else {
            return static_cast<float>(fill);
        }
    }
};

template <class Target, class Visitor>
bool visit_cast_source(const cast_job& job, Visitor&& visitor) {
    switch (size_of(job.source_type)) {
        case 1:
            visitor(cast_body<1, Target>{});
            return true;
        case 2:
            visitor(cast_body<2, Target>{});
            return true;
        case 4:
            visitor(cast_body<4, Target>{});
            return true;
        case 8:
            visitor(cast_body<8, Target>{});
            return true;
        default:
            return false;
    }
}

/// Calls `visitor(cast_body<…>{})` with the job's variant; false when there is none.
template <class Visitor>
bool visit_cast_body(const cast_job& job, Visitor&& visitor) {
    if (!can_cast(job.source_type, job.target_type))
        return false;
    switch (job.target_type) {
        case dtype::i32:
            return visit_cast_source<std::int32_t>(job, visitor);
        case dtype::i64:
            return visit_cast_source<std::int64_t>(job, visitor);
        case dtype::f32:
            return visit_cast_source<float>(job, visitor);
        case dtype::f16:
            return visit_cast_source<f16>(job, visitor);
        case dtype::bf16:
            return visit_cast_source<bf16>(job, visitor);
        default:
            return false;
    }
}

}  // namespace stoker::detail
