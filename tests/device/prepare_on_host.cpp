#include "device/prepare_on_host.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <stoker/tensor/bf16.hpp>
#include <stoker/tensor/f16.hpp>
#include "device/kernel_memory.hpp"
#include "support/catch.hpp"

// The body that prepares images against a reference that was written from the documentation alone:
// one element at a time, no words, no groups. Every comparison is of bits.

using stoker::dtype;
using stoker::detail::bits_at;
using stoker::detail::image_job;
using stoker::detail::numbers;
using stoker::detail::prepare_on_host;
using stoker::detail::source_memory;
using stoker::detail::target_memory;

namespace {

struct image_case {
    image_job job;
    std::vector<std::uint32_t> source;
    std::vector<std::int32_t> top;
    std::vector<std::int32_t> left;
    std::vector<std::uint8_t> flip;

    std::size_t target_elements() const {
        return std::size_t{job.samples} * job.height * job.width * job.target_channels;
    }
    std::uint8_t pixel(std::size_t sample, std::int64_t row, std::int64_t column,
                       std::size_t channel) const {
        if (row < 0 || column < 0 || row >= job.source_height || column >= job.source_width)
            return static_cast<std::uint8_t>(job.fill);
        const std::size_t at =
            ((sample * job.source_height + static_cast<std::size_t>(row)) * job.source_width +
             static_cast<std::size_t>(column)) *
                job.channels +
            channel;
        return reinterpret_cast<const std::uint8_t*>(source.data())[at];
    }
    /// One value of the target, by what the documentation says.
    float expected(std::size_t sample, std::uint32_t row, std::uint32_t column,
                   std::size_t channel) const {
        if (channel >= job.channels)
            return 0;
        const bool mirrored = job.flip != nullptr && flip[sample] != 0;
        const std::int64_t across = mirrored ? std::int64_t{job.width} - 1 - column : column;
        const std::int64_t from_top = job.top != nullptr ? top[sample] : job.common_top;
        const std::int64_t from_left = job.left != nullptr ? left[sample] : job.common_left;
        const std::uint8_t value = pixel(sample, from_top + row, from_left + across, channel);
        return std::fma(static_cast<float>(value), job.multiply[channel], job.add[channel]);
    }
};

std::int32_t random_begin(numbers& random, int extent, int source_extent) {
    switch (random.between(0, 9)) {
        case 0:
            return std::numeric_limits<std::int32_t>::min() + random.between(0, 3);
        case 1:
            return std::numeric_limits<std::int32_t>::max() - random.between(0, 3);
        case 2:
        case 3:
        case 4:
            return random.between(-extent - 2, source_extent + 2);
        default:
            return source_extent > extent ? random.between(0, source_extent - extent) : 0;
    }
}

image_case random_case(numbers& random, dtype type, int channels, int target_channels,
                       bool channels_first) {
    image_case made;
    image_job& job = made.job;
    job.type = type;
    job.channels = static_cast<std::uint8_t>(channels);
    job.target_channels = static_cast<std::uint8_t>(target_channels);
    job.channels_first = channels_first;
    job.samples = static_cast<std::uint32_t>(random.between(1, 4));
    job.source_height = static_cast<std::uint32_t>(random.between(1, 9));
    job.source_width = static_cast<std::uint32_t>(random.between(1, 23));
    job.height = static_cast<std::uint32_t>(random.between(1, 9));
    job.width = static_cast<std::uint32_t>(random.between(1, 19));
    job.fill = random.byte();
    for (int channel = 0; channel < channels; ++channel) {
        job.multiply[channel] = static_cast<float>(random.between(1, 4000)) * 1e-5f;
        job.add[channel] = static_cast<float>(random.between(-3000, 3000)) * 1e-3f;
    }
    for (std::uint32_t sample = 0; sample < job.samples; ++sample) {
        const auto height = static_cast<int>(job.height);
        const auto width = static_cast<int>(job.width);
        made.top.push_back(random_begin(random, height, static_cast<int>(job.source_height)));
        made.left.push_back(random_begin(random, width, static_cast<int>(job.source_width)));
        made.flip.push_back(random.coin() ? static_cast<std::uint8_t>(random.between(1, 255)) : 0);
    }
    job.common_top = made.top[0];
    job.common_left = made.left[0];
    made.source = source_memory(
        random, std::size_t{job.samples} * job.source_height * job.source_width * job.channels);
    return made;
}

/// Pointers into the case itself, once it has its place.
void connect(image_case& made, numbers& random) {
    made.job.source = reinterpret_cast<const std::uint8_t*>(made.source.data());
    made.job.top = random.coin() ? made.top.data() : nullptr;
    made.job.left = random.coin() ? made.left.data() : nullptr;
    made.job.flip = random.coin() ? made.flip.data() : nullptr;
}

std::uint32_t bits_as(dtype type, float value) {
    if (type == dtype::f16)
        return stoker::f16(value).bits();
    if (type == dtype::bf16)
        return stoker::bf16(value).bits();
    return std::bit_cast<std::uint32_t>(value);
}

/// Elements that differ from the reference.
std::size_t wrong_elements(const image_case& made, const std::uint8_t* target) {
    const image_job& job = made.job;
    const std::size_t bytes = size_of(job.type);
    const std::size_t channels = job.target_channels;
    std::size_t wrong = 0;
    for (std::size_t sample = 0; sample < job.samples; ++sample) {
        for (std::uint32_t row = 0; row < job.height; ++row) {
            for (std::uint32_t column = 0; column < job.width; ++column) {
                for (std::size_t channel = 0; channel < channels; ++channel) {
                    const std::size_t pixels = std::size_t{job.height} * job.width;
                    const std::size_t pixel = std::size_t{row} * job.width + column;
                    const std::size_t at = job.channels_first
                                               ? (sample * channels + channel) * pixels + pixel
                                               : (sample * pixels + pixel) * channels + channel;
                    const float expected = made.expected(sample, row, column, channel);
                    wrong += bits_at(target, at, bytes) != bits_as(job.type, expected);
                }
            }
        }
    }
    return wrong;
}

struct variant {
    int channels;
    int target_channels;
    bool channels_first;
};
constexpr variant variants[] = {{1, 1, true},  {1, 1, false}, {3, 3, true}, {3, 3, false},
                                {3, 4, false}, {4, 4, true},  {4, 4, false}};
constexpr dtype image_types[] = {dtype::f32, dtype::f16, dtype::bf16};

}  // namespace

TEST_CASE("an image has the bits of a scalar reference, whatever its size, crop and flip") {
    numbers random(7);
    for (const dtype type : image_types) {
        for (const variant& which : variants) {
            for (int repeat = 0; repeat < 150; ++repeat) {
                image_case made = random_case(random, type, which.channels, which.target_channels,
                                              which.channels_first);
                connect(made, random);
                target_memory target(made.target_elements() * size_of(type));
                made.job.target = target.data();
                REQUIRE(prepare_on_host(made.job));
                CAPTURE(stoker::name_of(type), which.channels, which.target_channels,
                        which.channels_first, repeat, made.job.width, made.job.source_width);
                REQUIRE(wrong_elements(made, target.data()) == 0);
                REQUIRE(target.margins_are_whole());
            }
        }
    }
}

TEST_CASE("the common case, whole aligned images, has the same bits") {
    numbers random(8);
    for (const dtype type : image_types) {
        for (const variant& which : variants) {
            image_case made = random_case(random, type, which.channels, which.target_channels,
                                          which.channels_first);
            image_job& job = made.job;
            job.samples = 2;
            job.height = job.source_height = 12;
            job.width = job.source_width = 32;
            job.common_top = job.common_left = 0;
            made.source = source_memory(random, 2u * 12 * 32 * job.channels);
            job.source = reinterpret_cast<const std::uint8_t*>(made.source.data());
            target_memory target(made.target_elements() * size_of(type));
            job.target = target.data();
            REQUIRE(prepare_on_host(job));
            REQUIRE(wrong_elements(made, target.data()) == 0);
            REQUIRE(target.margins_are_whole());
        }
    }
}

TEST_CASE("values beyond the range of f16 become infinite, and tiny ones keep their last bit") {
    numbers random(9);
    for (const float factor : {1e6f, -1e6f, 6e-8f, 1e-9f, 1e30f}) {
        for (const dtype type : image_types) {
            image_case made = random_case(random, type, 3, 3, true);
            std::fill_n(made.job.multiply, 3, factor);
            std::fill_n(made.job.add, 3, 0.0f);
            connect(made, random);
            target_memory target(made.target_elements() * size_of(type));
            made.job.target = target.data();
            REQUIRE(prepare_on_host(made.job));
            REQUIRE(wrong_elements(made, target.data()) == 0);
        }
    }
}

TEST_CASE("images that no variant makes are refused") {
    const auto made = [](dtype type, int channels, int target_channels, bool channels_first) {
        image_job job;
        job.type = type;
        job.channels = static_cast<std::uint8_t>(channels);
        job.target_channels = static_cast<std::uint8_t>(target_channels);
        job.channels_first = channels_first;
        return prepare_on_host(job);  // of no samples
    };
    CHECK(made(dtype::f16, 3, 4, false));
    CHECK_FALSE(made(dtype::f16, 3, 4, true));
    CHECK_FALSE(made(dtype::f16, 2, 2, true));
    CHECK_FALSE(made(dtype::f16, 4, 3, true));
    CHECK_FALSE(made(dtype::f64, 3, 3, true));
    CHECK_FALSE(made(dtype::u8, 3, 3, true));
}
