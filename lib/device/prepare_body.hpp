#pragma once

#include <cstddef>
#include <cstdint>

#include "device/device_code.hpp"
#include "device/prepare_job.hpp"

// The body of the kernel that prepares images, compiled for GPUs by nvcc and for the host by the
// C++ compiler, with equal bits.
//
// One call makes four pixels of a row. They are four neighbours in the source too, mirrored or
// not: 4 × channels bytes at any address. Byte loads would be the kernel's bottleneck, so they come
// as aligned words that a funnel shift puts right, and leave by stores of 8 or 16 bytes. Pixels
// that a rectangle has outside of the image are rare, and so is a last group of fewer than four:
// both take the slow path, byte by byte.

namespace stoker::detail {

/// Output pixels that one call makes.
inline constexpr std::uint32_t pixels_a_group = 4;

STOKER_DEVICE_CODE std::uint32_t groups_a_row(std::uint32_t width) {
    return (width + pixels_a_group - 1) / pixels_a_group;
}

/// Where a rectangle begins, brought near enough for sums to fit; one that is wholly outside stays
/// so.
STOKER_DEVICE_CODE std::int32_t bounded(std::int32_t begin, std::uint32_t extent,
                                        std::uint32_t source_extent) {
    const std::int32_t lowest = -static_cast<std::int32_t>(extent);
    const auto highest = static_cast<std::int32_t>(source_extent);
    return begin < lowest ? lowest : begin > highest ? highest : begin;
}

/// Four pixels from column `first` of a row on, some of them outside; `row` is null when it is.
template <int Channels>
STOKER_DEVICE_CODE void gather_pixels(const std::uint8_t* row, std::int32_t first,
                                      std::uint32_t source_width, std::uint32_t fill,
                                      std::uint32_t (&words)[Channels]) {
    for (int word = 0; word < Channels; ++word) {
        words[word] = 0;
        for (int byte = 4 * word; byte < 4 * word + 4; ++byte) {
            const std::int32_t column = first + byte / Channels;
            // A column before the image is a huge unsigned one.
            const bool inside = row != nullptr && static_cast<std::uint32_t>(column) < source_width;
            const std::uint32_t value =
                inside ? row[static_cast<std::ptrdiff_t>(column) * Channels + byte % Channels]
                       : fill;
            words[word] |= value << (8 * (byte % 4));
        }
    }
}

/// One variant: the type of the target, the channels of source and target, and their place.
template <dtype Type, int Channels, int TargetChannels, bool ChannelsFirst>
struct image_body {
    using storage = typename stored<Type>::type;

    /// Makes pixels 4 × `group` up to 4 × `group` + 3 of row `row`, so far as there are any.
    static STOKER_DEVICE_CODE void make_group(const image_job& job, std::uint32_t sample,
                                              std::uint32_t row, std::uint32_t group) {
        const std::uint32_t first = pixels_a_group * group;
        const std::uint32_t left_over = job.width - first;
        const std::uint32_t count = left_over < pixels_a_group ? left_over : pixels_a_group;
        const bool flipped = job.flip != nullptr && job.flip[sample] != 0;
        std::uint32_t words[Channels];
        load_pixels(job, sample, row, first, flipped, words);
        if constexpr (ChannelsFirst) {
            store_planes(job, sample, row, first, count, flipped, words);
        } else {
            store_pixels(job, sample, row, first, count, flipped, words);
        }
    }

  private:
    static STOKER_DEVICE_CODE void load_pixels(const image_job& job, std::uint32_t sample,
                                               std::uint32_t row, std::uint32_t first, bool flipped,
                                               std::uint32_t (&words)[Channels]) {
        const std::int32_t top = bounded(job.top != nullptr ? job.top[sample] : job.common_top,
                                         job.height, job.source_height);
        const std::int32_t left = bounded(job.left != nullptr ? job.left[sample] : job.common_left,
                                          job.width, job.source_width);
        const std::int32_t source_row = top + static_cast<std::int32_t>(row);
        // The lowest of the four columns: mirrored, the last pixel of the group.
        const std::int32_t column =
            left + (flipped ? static_cast<std::int32_t>(job.width - first) - 4
                            : static_cast<std::int32_t>(first));
        const bool row_inside = static_cast<std::uint32_t>(source_row) < job.source_height;
        const std::uint8_t* source = nullptr;
        if (row_inside) {
            const std::size_t rows_before =
                std::size_t{sample} * job.source_height + static_cast<std::uint32_t>(source_row);
            source = job.source + rows_before * job.source_width * Channels;
        }
        if (row_inside && column >= 0 &&
            static_cast<std::uint32_t>(column) + pixels_a_group <= job.source_width) {
            load_words(source + static_cast<std::ptrdiff_t>(column) * Channels, words);
        } else {
            gather_pixels<Channels>(source, column, job.source_width, job.fill, words);
        }
    }

    static STOKER_DEVICE_CODE storage normalised(const image_job& job,
                                                 const std::uint32_t (&words)[Channels], int pixel,
                                                 int channel, bool flipped) {
        const auto straight = element_of<1>(words, pixel * Channels + channel);
        const auto mirrored = element_of<1>(words, (3 - pixel) * Channels + channel);
        const auto value =
            static_cast<float>(static_cast<std::uint32_t>(flipped ? mirrored : straight));
        return stored<Type>::of(multiply_add(value, job.multiply[channel], job.add[channel]));
    }

    static STOKER_DEVICE_CODE void store_planes(const image_job& job, std::uint32_t sample,
                                                std::uint32_t row, std::uint32_t first,
                                                std::uint32_t count, bool flipped,
                                                const std::uint32_t (&words)[Channels]) {
        const std::size_t plane = std::size_t{job.height} * job.width;
        storage* to = static_cast<storage*>(job.target) + sample * Channels * plane +
                      std::size_t{row} * job.width + first;
        for (int channel = 0; channel < Channels; ++channel) {
            storage values[pixels_a_group];
            for (int pixel = 0; pixel < 4; ++pixel)
                values[pixel] = normalised(job, words, pixel, channel, flipped);
            store_run(to + static_cast<std::size_t>(channel) * plane, values, count);
        }
    }

    static STOKER_DEVICE_CODE void store_pixels(const image_job& job, std::uint32_t sample,
                                                std::uint32_t row, std::uint32_t first,
                                                std::uint32_t count, bool flipped,
                                                const std::uint32_t (&words)[Channels]) {
        const std::size_t rows_before = std::size_t{sample} * job.height + row;
        storage values[pixels_a_group * TargetChannels] = {};
        for (int pixel = 0; pixel < 4; ++pixel) {
            for (int channel = 0; channel < Channels; ++channel)
                values[pixel * TargetChannels + channel] =
                    normalised(job, words, pixel, channel, flipped);
        }
        store_run(
            static_cast<storage*>(job.target) + (rows_before * job.width + first) * TargetChannels,
            values, count * TargetChannels);
    }
};

template <dtype Type, int Channels, int TargetChannels, bool ChannelsFirst, class Visitor>
bool visit_image_variant(Visitor&& visitor) {
    visitor(image_body<Type, Channels, TargetChannels, ChannelsFirst>{});
    return true;
}

template <dtype Type, class Visitor>
bool visit_image_type(const image_job& job, Visitor&& visitor) {
    const int channels = job.channels * 10 + job.target_channels;
    if (channels == 11)  // one channel is first and last
        return visit_image_variant<Type, 1, 1, true>(visitor);
    if (channels == 33)
        return job.channels_first ? visit_image_variant<Type, 3, 3, true>(visitor)
                                  : visit_image_variant<Type, 3, 3, false>(visitor);
    if (channels == 44)
        return job.channels_first ? visit_image_variant<Type, 4, 4, true>(visitor)
                                  : visit_image_variant<Type, 4, 4, false>(visitor);
    return channels == 34 && !job.channels_first && visit_image_variant<Type, 3, 4, false>(visitor);
}

/// Calls `visitor(image_body<…>{})` with the job's variant; false when there is none.
template <class Visitor>
bool visit_image_body(const image_job& job, Visitor&& visitor) {
    switch (job.type) {
        case dtype::f32:
            return visit_image_type<dtype::f32>(job, visitor);
        case dtype::f16:
            return visit_image_type<dtype::f16>(job, visitor);
        case dtype::bf16:
            return visit_image_type<dtype::bf16>(job, visitor);
        default:
            return false;
    }
}

}  // namespace stoker::detail
