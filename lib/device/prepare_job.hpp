#pragma once

#include <cstdint>

#include <stoker/tensor/dtype.hpp>

// What the kernels are told. Plain types alone: kernels take them by value, and nvcc compiles
// nothing else of ours.

namespace stoker::detail {

/// Most channels of an image.
inline constexpr int most_channels = 4;
/// Most rows, and most columns, of an image and of what is made of it: sums of two, signed, fit
/// into 32 bits.
inline constexpr std::uint32_t most_pixels_a_side = 1u << 29;

/// One column of images to prepare: cut out of u8 [samples, source_height, source_width, channels],
/// mirrored where `flip` says so, normalised by one fused multiply-add, and rounded to nearest.
/// All pointers are those of the device that runs it.
struct image_job {
    const std::uint8_t* source = nullptr;  ///< 4-aligned, readable up to a multiple of 4 bytes
    void* target = nullptr;                ///< 16-aligned
    /// Where each sample's rectangle begins in its source image, any value: what lies outside is
    /// `fill`. One a sample; null where all have the same.
    const std::int32_t* top = nullptr;
    const std::int32_t* left = nullptr;
    const std::uint8_t* flip = nullptr;  ///< one a sample, not 0: mirrored; null: none is
    std::uint32_t samples = 0;
    std::uint32_t source_height = 0;
    std::uint32_t source_width = 0;
    std::uint32_t height = 0;  ///< of the rectangle and of what is made of it
    std::uint32_t width = 0;
    std::int32_t common_top = 0;  ///< where `top` is null
    std::int32_t common_left = 0;
    float multiply[most_channels] = {};  ///< target = fma(pixel, multiply, add), pixel 0 to 255
    float add[most_channels] = {};
    std::uint32_t fill = 0;     ///< the pixel that stands for those outside, 0 to 255
    dtype type = dtype::f32;    ///< of the target: f32, f16, bf16
    std::uint8_t channels = 0;  ///< 1, 3 or 4
    /// `channels`, or 4 of 3 where the channels are last: the fourth is 0.
    std::uint8_t target_channels = 0;
    bool channels_first = false;  ///< [samples, channels, height, width]; else channels last
};

/// Rows of numbers to convert: row r of the target is what lies in row r of the source from that
/// row's offset on. A plain cast is one row.
struct cast_job {
    const void* source = nullptr;
    void* target = nullptr;
    /// One a row, any value: what lies outside of the source's row becomes `fill`. Null where all
    /// have the same.
    const std::int32_t* offset = nullptr;
    std::int64_t common_offset = 0;  ///< where `offset` is null
    std::uint64_t rows = 0;
    std::uint64_t row_size = 0;         ///< elements of a row of the target
    std::uint64_t source_row_size = 0;  ///< elements of a row of the source
    std::int32_t fill = 0;
    dtype source_type = dtype::u8;  ///< any
    /// What `can_cast` allows.
    dtype target_type = dtype::i32;
};

}  // namespace stoker::detail
