#pragma once

#include <cstdint>

namespace stoker {

/// A part of `prepare`: of each sample's list as many elements as the device member has, from
/// `offset` on. So a list of n + 1 tokens crosses the bus once, in 16 bits, and becomes input and
/// target:
///
///     struct text { stoker::tensor<std::uint16_t, 1025> tokens; };
///     struct device_text { stoker::tensor<std::int64_t, 1024> input, target; };
///     stoker::prepare(&text::tokens, &device_text::input, stoker::window{0}),
///     stoker::prepare(&text::tokens, &device_text::target, stoker::window{1})
///
/// With a member, `stoker::window{&text::offset}`, each sample's own offset. What lies outside of
/// the list becomes `fill`: any offset will do.
template <class Sample = void>
struct window {
    std::int32_t Sample::*offset;
    std::int32_t fill = 0;
};
/// The same offset for all samples.
template <>
struct window<void> {
    std::int64_t offset = 0;
    std::int32_t fill = 0;
};
template <class Sample>
window(std::int32_t Sample::*, int = 0) -> window<Sample>;
window(int, int = 0)->window<void>;

}  // namespace stoker
