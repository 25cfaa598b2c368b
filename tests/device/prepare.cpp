#include <stoker/device/prepare.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include <stoker/core/error.hpp>
#include "device/host_queue.hpp"
#include "support/catch.hpp"

using namespace stoker;

namespace {

struct image {
    tensor<std::uint8_t, 5, 7, 3> pixels;
    std::int64_t label;
    std::int32_t top;
    std::int32_t left;
    bool flipped;
};
struct device_image {
    tensor<f16, 3, 5, 7> pixels;
    std::int64_t label;
};
struct cropped_image {
    std::int64_t label;
    tensor<float, 4, 6, 4> pixels;
};

struct text {
    tensor<std::uint16_t, 6> tokens;
    std::int32_t from;
    std::uint16_t length;
    std::uint8_t kind;
};
struct device_text {
    tensor<std::int64_t, 5> input;
    tensor<std::int32_t, 5> target;
    std::int32_t length;
    std::uint8_t kind;
};

const normalize imagenet{{0.485f, 0.456f, 0.406f}, {0.229f, 0.224f, 0.225f}};

static_assert(std::is_same_v<decltype(prepare(&image::pixels, &device_image::pixels)),
                             prepared_member<image, device_image>>);
static_assert(
    std::is_same_v<detail::feed_parts<image, prepared_member<image, device_image>>::device_sample,
                   device_image>);

template <class Part, class... Parts>
std::unique_ptr<detail::preparation> made_of(Part part, Parts... parts) {
    return detail::feed_parts<typename Part::sample, Part, Parts...>::make(part, parts...);
}

/// Three images, each pixel another value.
detail::batch_memory images() {
    auto batch = detail::batch_of<image>(3);
    for (std::size_t at = 0; at < 3 * 5 * 7 * 3; ++at)
        batch.column<std::uint8_t>(0)[at] = static_cast<std::uint8_t>(at * 7 + at / 105);
    for (std::size_t sample = 0; sample < 3; ++sample) {
        batch.column<std::int64_t>(1)[sample] = 100 + static_cast<std::int64_t>(sample);
        batch.column<std::int32_t>(2)[sample] = static_cast<std::int32_t>(sample) - 1;
        batch.column<std::int32_t>(3)[sample] = 2 * static_cast<std::int32_t>(sample);
        batch.column<bool>(4)[sample] = sample == 1;
    }
    return batch;
}

float normalised(std::uint8_t pixel, std::size_t channel) {
    const double mean = imagenet.mean()[channel];
    const double deviation = imagenet.deviation()[channel];
    return std::fma(static_cast<float>(pixel), static_cast<float>(1 / (255 * deviation)),
                    static_cast<float>(-mean / deviation));
}

}  // namespace

TEST_CASE("pixels become normalised f16 with channels first, labels come by name") {
    const auto plan = made_of(prepare(&image::pixels, &device_image::pixels, imagenet));
    REQUIRE(plan->column_count() == 2);
    auto source = images();
    detail::host_queue queue;
    auto made = detail::prepared_from(*plan, source, queue);
    CHECK(made.records[0].rank == 4);
    CHECK(made.records[0].extents[0] == 3);
    CHECK(made.records[0].extents[3] == 7);
    CHECK(made.records[0].bytes == 3u * 3 * 5 * 7 * 2);
    CHECK(made.records[1].offset % 256 == 0);
    std::size_t wrong = 0;
    for (std::size_t sample = 0; sample < 3; ++sample) {
        for (std::size_t channel = 0; channel < 3; ++channel) {
            for (std::size_t pixel = 0; pixel < 35; ++pixel) {
                const std::uint8_t from =
                    source.column<std::uint8_t>(0)[(sample * 35 + pixel) * 3 + channel];
                wrong += made.column<f16>(0)[(sample * 3 + channel) * 35 + pixel].bits() !=
                         f16(normalised(from, channel)).bits();
            }
        }
        CHECK(made.column<std::int64_t>(1)[sample] == 100 + static_cast<std::int64_t>(sample));
    }
    CHECK(wrong == 0);
    CHECK(queue.kernels == std::vector<std::string>{"stoker::prepare (image)"});
    CHECK(queue.copied_bytes == 3 * 8);
}

TEST_CASE("the workers' crop and flip are done sample by sample, the fourth channel is 0") {
    const auto plan =
        made_of(prepare(&image::pixels, &cropped_image::pixels, crop{&image::top, &image::left, 9},
                        horizontal_flip{&image::flipped}));
    auto source = images();
    detail::host_queue queue;
    auto made = detail::prepared_from(*plan, source, queue);
    std::size_t wrong = 0;
    for (int sample = 0; sample < 3; ++sample) {
        for (int row = 0; row < 4; ++row) {
            for (int column = 0; column < 6; ++column) {
                const int from_row = row + sample - 1;
                const int from_column = (sample == 1 ? 5 - column : column) + 2 * sample;
                const bool inside =
                    from_row >= 0 && from_row < 5 && from_column >= 0 && from_column < 7;
                const float* pixel = made.column<float>(1) + ((sample * 4 + row) * 6 + column) * 4;
                for (int channel = 0; channel < 3; ++channel) {
                    const int at = ((sample * 5 + from_row) * 7 + from_column) * 3 + channel;
                    const float expected = inside ? source.column<std::uint8_t>(0)[at] : 9;
                    wrong += pixel[channel] != expected;
                }
                wrong += pixel[3] != 0;
            }
        }
    }
    CHECK(wrong == 0);
    CHECK(made.column<std::int64_t>(0)[2] == 102);
}

TEST_CASE("tokens become input and target, other members are cast by name") {
    const auto plan =
        made_of(prepare(&text::tokens, &device_text::input, window{0}),
                prepare(&text::tokens, &device_text::target, window{&text::from, -100}));
    auto source = detail::batch_of<text>(2);
    for (std::uint16_t at = 0; at < 12; ++at)
        source.column<std::uint16_t>(0)[at] = static_cast<std::uint16_t>(65530 + at % 6);
    for (std::size_t sample = 0; sample < 2; ++sample) {
        source.column<std::int32_t>(1)[sample] = sample == 0 ? 1 : 4;
        source.column<std::uint16_t>(2)[sample] = 60000;
        source.column<std::uint8_t>(3)[sample] = 7;
    }
    detail::host_queue queue;
    auto made = detail::prepared_from(*plan, source, queue);
    const auto* input = made.column<std::int64_t>(0);
    const auto* target = made.column<std::int32_t>(1);
    CHECK(std::vector<std::int64_t>(input, input + 5) ==
          std::vector<std::int64_t>{65530, 65531, 65532, 65533, 65534});
    CHECK(std::vector<std::int32_t>(target, target + 5) ==
          std::vector<std::int32_t>{65531, 65532, 65533, 65534, 65535});
    CHECK(std::vector<std::int32_t>(target + 5, target + 10) ==
          std::vector<std::int32_t>{65534, 65535, -100, -100, -100});
    CHECK(made.column<std::int32_t>(2)[1] == 60000);
    CHECK(made.column<std::uint8_t>(3)[1] == 7);
    CHECK(queue.kernels.size() == 3);
}

namespace {

struct sized_image {
    tensor<std::uint8_t, dynamic, dynamic> pixels;
};
struct device_square {
    tensor<bf16, 4, 4> pixels;
};
struct device_square_first {
    tensor<float, 1, 4, 4> pixels;
};

detail::batch_memory sized(std::uint64_t height, std::uint64_t width) {
    detail::batch_memory made(1);
    made.records[0] = {
        .offset = 0, .bytes = height * width, .rank = 3, .extents = {1, height, width}};
    made.allocate(height * width);
    for (std::uint64_t at = 0; at < height * width; ++at)
        made.column<std::uint8_t>(0)[at] = static_cast<std::uint8_t>(at);
    return made;
}

}  // namespace

TEST_CASE("images of run-time size are cut out of their middle, or framed") {
    const auto plan =
        made_of(prepare(&sized_image::pixels, &device_square::pixels, center_crop{.fill = 200}));
    detail::host_queue queue;
    auto large = sized(7, 6);
    auto cut = detail::prepared_from(*plan, large, queue);
    CHECK(static_cast<float>(cut.column<bf16>(0)[0]) == 1 * 6 + 1);
    CHECK(static_cast<float>(cut.column<bf16>(0)[15]) == 4 * 6 + 4);
    auto small = sized(2, 3);
    auto framed = detail::prepared_from(*plan, small, queue);
    const bf16* pixels = framed.column<bf16>(0);
    CHECK(static_cast<float>(pixels[0]) == 200);
    CHECK(static_cast<float>(pixels[4 + 1]) == 0);
    CHECK(static_cast<float>(pixels[4 + 3]) == 2);
    CHECK(static_cast<float>(pixels[8 + 3]) == 5);
    CHECK(static_cast<float>(pixels[12]) == 200);
}

TEST_CASE("images of another size than the device's are refused by name, where nothing crops") {
    const auto plan = made_of(prepare(&sized_image::pixels, &device_square_first::pixels));
    auto fitting = sized(4, 4);
    detail::host_queue queue;
    CHECK(detail::prepared_from(*plan, fitting, queue).column<float>(0)[15] == 15);
    auto other = sized(4, 5);
    detail::column_record record;
    try {
        plan->lay_out(other.records.data(), &record);
        FAIL("laid out");
    } catch (const error& refused) {
        CHECK(refused.code() == errc::shape_mismatch);
        CHECK_THAT(refused.what(), Catch::Contains("[1, 4, 5]") && Catch::Contains("pixels") &&
                                       Catch::Contains("center_crop"));
    }
}
