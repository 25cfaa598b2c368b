#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>

namespace stoker {

/// The number by which a dataset knows a sample: 0 up to, but not including, `dataset.size()`.
///
/// Samplers may count in any integer type; a negative number wraps to a huge index, which no
/// dataset has, and is reported as it was given: "index -1 is out of range".
using index = std::uint64_t;

namespace detail {

/// An index as its giver wrote it: wrapped negatives get their sign back.
///
///     describe_index(7)                       // "7"
///     describe_index(static_cast<index>(-1))  // "-1"
std::string describe_index(index value);

/// "index -1 is out of range: the dataset has 3 samples".
std::string describe_out_of_range(index value, std::uint64_t size);

/// Throws error{index_out_of_range} with that text.
[[noreturn]] void throw_out_of_range(index value, std::uint64_t size);

/// Integers of any width and sign; bool counts nothing.
template <class Value>
concept index_value =
    std::integral<std::remove_cvref_t<Value>> && !std::same_as<std::remove_cvref_t<Value>, bool>;

/// Negative numbers wrap; `describe_index` gives them their sign back.
constexpr index to_index(index_value auto value) {
    return static_cast<index>(value);
}

}  // namespace detail

}  // namespace stoker
