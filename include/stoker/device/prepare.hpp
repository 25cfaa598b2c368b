#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <stoker/collate/member_types.hpp>
#include <stoker/dataset/fields.hpp>
#include <stoker/dataset/member.hpp>
#include <stoker/device/cast_rules.hpp>
#include <stoker/device/center_crop.hpp>
#include <stoker/device/channels.hpp>
#include <stoker/device/crop.hpp>
#include <stoker/device/horizontal_flip.hpp>
#include <stoker/device/normalize.hpp>
#include <stoker/device/prepare_plan.hpp>
#include <stoker/device/prepared_member.hpp>
#include <stoker/device/window.hpp>
#include <stoker/tensor/bf16.hpp>
#include <stoker/tensor/f16.hpp>

namespace stoker {

namespace detail {

/// Number of a member's first column; of a member that is not one column, of no use here.
template <class Sample, class Member>
std::size_t column_of(Member Sample::*member) {
    return collation<Sample>::first_columns[field_number(member)];
}

template <class Part>
struct is_window : std::false_type {};
template <class Sample>
struct is_window<window<Sample>> : std::true_type {};

/// u8 [height, width] or [height, width, channels].
template <class Member>
constexpr bool is_image() {
    if constexpr (dense_member<Member>) {
        using trait = dense_trait<Member>;
        return std::same_as<typename trait::element_type, std::uint8_t> &&
               (trait::extents::rank == 2 || trait::extents::rank == 3);
    }
    return false;
}

/// f32, f16 or bf16 of two or three axes that the type says.
template <class Member>
constexpr bool is_prepared_image() {
    if constexpr (inline_member<Member>) {
        using trait = dense_trait<Member>;
        using element = typename trait::element_type;
        return (std::same_as<element, float> || std::same_as<element, f16> ||
                std::same_as<element, bf16>)&&(trait::extents::rank == 2 ||
                                               trait::extents::rank == 3);
    }
    return false;
}

/// What two image types say about each other.
template <class Source, class Target>
struct image_pair {
    using source = typename dense_trait<Source>::extents;
    using target = typename dense_trait<Target>::extents;
    static constexpr std::size_t channels = source::rank == 2 ? 1 : source::values.back();
    static constexpr bool flat = target::rank == 2;
    static constexpr bool may_be_first = flat ? channels == 1 : target::values.front() == channels;
    static constexpr bool may_be_last =
        flat ? channels == 1
             : target::values.back() == channels || (channels == 3 && target::values.back() == 4);
    static constexpr std::size_t first_side(bool first) { return flat || !first ? 0 : 1; }
    static constexpr std::size_t height(bool first) { return target::values[first_side(first)]; }
    static constexpr std::size_t width(bool first) { return target::values[first_side(first) + 1]; }
    static constexpr std::size_t target_channels(bool first) {
        return flat || first ? channels : target::values.back();
    }
    /// As large as the source, as far as types say.
    static constexpr bool same_size(bool first) {
        return (source::values[0] == dynamic || source::values[0] == height(first)) &&
               (source::values[1] == dynamic || source::values[1] == width(first));
    }
};

/// Puts what a part says into a step. `Pair` is the image_pair.
template <class Pair, class Sample, class Part>
void add_part(image_step&, const Part&) {
    static_assert(sizeof(Part) == 0,
                  "stoker: prepare takes normalize, crop, center_crop, horizontal_flip and "
                  "channels, with members of the same sample, or a window");
}
template <class Pair, class Sample, std::size_t Channels>
void add_part(image_step& step, const normalize<Channels>& part) {
    static_assert(Channels == Pair::channels,
                  "stoker: normalize needs a mean and a deviation for each channel of the image");
    set_normalisation(step, part.mean(), part.deviation());
}
template <class Pair, class Sample>
void add_part(image_step& step, const crop<Sample>& part) {
    step.cropped = true;
    step.top = column_of(part.top);
    step.left = column_of(part.left);
    step.fill = part.fill;
}
template <class Pair, class Sample>
void add_part(image_step& step, const center_crop& part) {
    step.cropped = true;
    step.fill = part.fill;
}
template <class Pair, class Sample, class Flag>
void add_part(image_step& step, const horizontal_flip<Sample, Flag>& part) {
    step.flip = column_of(part.flipped);
}
template <class Pair, class Sample>
void add_part(image_step& step, channels place) {
    step.channels_first = place == channels::first;
    step.height = Pair::height(step.channels_first);
    step.width = Pair::width(step.channels_first);
    step.target_channels = Pair::target_channels(step.channels_first);
}

template <class Sample, class Source, class Target, class... Parts>
constexpr bool check_image() {
    static_assert(is_image<Source>(),
                  "stoker: what becomes an image is a std::uint8_t tensor [height, width] or "
                  "[height, width, channels]");
    static_assert(is_prepared_image<Target>(),
                  "stoker: an image becomes a tensor of float, f16 or bf16 with static extents, "
                  "[channels, height, width] or [height, width, channels]");
    if constexpr (is_image<Source>() && is_prepared_image<Target>()) {
        using pair = image_pair<Source, Target>;
        constexpr std::size_t count = pair::channels;
        constexpr bool told = (std::same_as<Parts, channels> || ...);
        static_assert(count == 1 || count == 3 || count == 4,
                      "stoker: an image has 1, 3 or 4 channels, the last of its axes");
        static_assert(pair::may_be_first || pair::may_be_last,
                      "stoker: the device's image needs the channels of the sample's, or 4 last "
                      "for 3");
        static_assert(told || pair::flat || pair::may_be_first != pair::may_be_last,
                      "stoker: the image's channels may be first or last; say which by a "
                      "stoker::channels part");
        constexpr bool cropped =
            (std::same_as<Parts, crop<Sample>> || ...) || (std::same_as<Parts, center_crop> || ...);
        static_assert(cropped || told || pair::same_size(pair::may_be_first),
                      "stoker: the device's image has another size than the sample's; give a "
                      "stoker::crop or a stoker::center_crop");
        return (count == 1 || count == 3 || count == 4) &&
               (pair::may_be_first || pair::may_be_last);
    }
    return false;
}

template <class Sample, class Source, class Target, class... Parts>
image_step image_step_of(const Parts&... parts) {
    image_step step;
    if constexpr (check_image<Sample, Source, Target, Parts...>()) {
        using pair = image_pair<Source, Target>;
        step.channels = pair::channels;
        add_part<pair, Sample>(step, pair::may_be_first ? channels::first : channels::last);
        (add_part<pair, Sample>(step, parts), ...);
    }
    return step;
}

template <class Source, class Target, bool Window>
constexpr void check_numbers() {
    static_assert(dense_member<Source> && dense_member<Target>,
                  "stoker: prepare takes members that are numbers, arrays or tensors of them");
    if constexpr (dense_member<Source> && dense_member<Target>) {
        using source = dense_trait<Source>;
        using target = dense_trait<Target>;
        constexpr dtype from = dtype_of<typename source::element_type>;
        constexpr dtype to = dtype_of<typename target::element_type>;
        static_assert((from == to && !Window) || can_cast(from, to),
                      "stoker: prepare makes integers i32 or i64, and anything float, f16 or bf16");
        if constexpr (Window) {
            static_assert(
                source::extents::rank == 1 && target::extents::rank == 1 && target::inlined,
                "stoker: a stoker::window is of a tensor with one axis, into one whose "
                "extent is static");
        } else {
            static_assert(source::extents::rank == target::extents::rank,
                          "stoker: what is cast keeps its axes");
        }
    }
}

template <class Sample>
void add_window(number_step& step, const window<Sample>& part) {
    step.is_window = true;
    step.fill = part.fill;
    if constexpr (std::is_void_v<Sample>) {
        step.offset = part.offset;
    } else {
        step.offset_column = column_of(part.offset);
    }
}

}  // namespace detail

/// A part of a device feed: how one member of the device's sample is made, on the device, of one of
/// the workers' sample. Members that no part names are filled from those of the same name, copied
/// or, where types differ, cast.
///
///     struct image { stoker::tensor<std::uint8_t, 224, 224, 3> pixels; std::int64_t label; };
///     struct device_image { stoker::tensor<stoker::f16, 3, 224, 224> pixels; std::int64_t label;
///     }; stoker::prepare(&image::pixels, &device_image::pixels,
///                     stoker::normalize{{0.485f, 0.456f, 0.406f}, {0.229f, 0.224f, 0.225f}})
///
/// Images, u8 [height, width] or [height, width, channels] with 1, 3 or 4 channels, become float,
/// f16 or bf16 of either layout, by one kernel; 3 channels may become 4 that stand last, the fourth
/// 0, as tensor cores like it. Parts, in any order: `normalize`, without which numbers stay 0 to
/// 255; `crop` or `center_crop`, without which sizes must agree; `horizontal_flip`; `channels`.
///
/// Other numbers are cast: to i32 and i64 from integers, to float, f16 and bf16 from all, rounded
/// to nearest. A `window` gathers a part of each list, such as input and target of tokens.
///
/// Images and casts have the same bits on the host and on every GPU. What types cannot do does not
/// compile; a feed throws error{invalid_option} at construction for parts that do not fit together,
/// error{shape_mismatch} for a batch whose run-time shape does not.
template <class Sample, class Source, class DeviceSample, class Target, class... Parts>
prepared_member<Sample, DeviceSample> prepare(Source Sample::*source, Target DeviceSample::*target,
                                              const Parts&... parts) {
    constexpr bool windowed = (detail::is_window<Parts>::value || ...);
    if constexpr (!windowed && (sizeof...(Parts) > 0 || (detail::is_image<Source>() &&
                                                         detail::is_prepared_image<Target>()))) {
        auto step = detail::image_step_of<Sample, Source, Target>(parts...);
        step.source = detail::column_of(source);
        step.target = detail::column_of(target);
        return prepared_member<Sample, DeviceSample>(step);
    } else {
        static_assert(!windowed || sizeof...(Parts) == 1,
                      "stoker: a stoker::window stands by itself, it is no part for images");
        detail::check_numbers<Source, Target, windowed>();
        detail::number_step step;
        step.source = detail::column_of(source);
        step.target = detail::column_of(target);
        if constexpr (windowed)
            (detail::add_window(step, parts), ...);
        return prepared_member<Sample, DeviceSample>(step);
    }
}

}  // namespace stoker
