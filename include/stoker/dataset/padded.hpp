#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

#include <stoker/dataset/member.hpp>
#include <stoker/dataset/sequence.hpp>

namespace stoker {

namespace detail {

/// `Value` as an element.
template <element T, auto Value>
constexpr T padding_of() {
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
        return static_cast<T>(Value);
    } else {  // f16, bf16
        return T{static_cast<float>(Value)};
    }
}

/// Whether `Value` is one: -1 is no std::uint8_t, 0.5 no int.
template <element T, auto Value>
constexpr bool is_padding() {
    using given = decltype(Value);
    constexpr T padding = padding_of<T, Value>();
    if constexpr (std::same_as<T, given>) {
        return true;
    } else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
        return static_cast<given>(padding) == Value && (padding < T{}) == (Value < given{});
    } else {
        return static_cast<given>(static_cast<float>(padding)) == Value;
    }
}

}  // namespace detail

/// A member of a sample: a list whose length differs from sample to sample. In a batch it is a
/// tensor [batch, longest], in which shorter rows end in `Value`, with the lengths beside it: see
/// `padded_view`.
///
///     struct sentence { stoker::padded<std::int32_t, -100> tokens; };
///     sentence s{{17, 4, 9}};
///     s.tokens.push_back(2);
///
/// Filled like a std::vector: it is made from one (moved in, without a copy), from a std::span or a
/// list, and has size, empty, reserve, resize, clear, push_back, assign, data, [], begin, end.
/// `T` is an element, or a tensor or std::array of static extents: padded<tensor<float, 40>> gives
/// [batch, longest, 40].
///
/// Columns: "tokens" and "tokens.lengths" (i64).
///
/// Thread safety: that of a container.
template <class T, auto Value = 0>
class padded : public detail::sequence<T> {
    static_assert(detail::inline_member<T>,
                  "stoker: padded<T, value> holds elements, or tensors and std::arrays of static "
                  "extents");

  public:
    using detail::sequence<T>::sequence;
    using element_type = typename detail::dense_trait<T>::element_type;
    static_assert(detail::is_padding<element_type, Value>(),
                  "stoker: padded<T, value> needs a value that a T can be");
    /// What stands beyond each list's end.
    static constexpr element_type padding = detail::padding_of<element_type, Value>();
};

}  // namespace stoker
