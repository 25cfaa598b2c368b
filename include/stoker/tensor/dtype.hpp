#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace stoker {

/// What the elements of a tensor or a column are. The values are part of formats: never renumber.
enum class dtype : std::uint8_t {
    bool_,
    u8,
    i8,
    u16,
    i16,
    u32,
    i32,
    u64,
    i64,
    f16,
    bf16,
    f32,
    f64
};

/// Bytes of one element.
constexpr std::size_t size_of(dtype type) noexcept {
    switch (type) {
        case dtype::bool_:
        case dtype::u8:
        case dtype::i8:
            return 1;
        case dtype::u16:
        case dtype::i16:
        case dtype::f16:
        case dtype::bf16:
            return 2;
        case dtype::u32:
        case dtype::i32:
        case dtype::f32:
            return 4;
        case dtype::u64:
        case dtype::i64:
        case dtype::f64:
            return 8;
    }
    return 0;
}

/// "bool", "u8", … "f64".
constexpr std::string_view name_of(dtype type) noexcept {
    constexpr std::string_view names[] = {"bool", "u8",  "i8",  "u16",  "i16", "u32", "i32",
                                          "u64",  "i64", "f16", "bf16", "f32", "f64"};
    const auto number = static_cast<std::size_t>(type);
    return number < sizeof(names) / sizeof(names[0]) ? names[number] : std::string_view{"unknown"};
}

namespace detail {

/// The dtype of a type; types of ours that are no arithmetic ones specialise it beside themselves.
template <class T>
struct dtype_trait {};

template <class T>
    requires std::is_integral_v<T>
struct dtype_trait<T> {
    static constexpr dtype of() {
        if (std::is_same_v<T, bool>)
            return dtype::bool_;
        constexpr bool is_signed = std::is_signed_v<T>;
        switch (sizeof(T)) {
            case 1:
                return is_signed ? dtype::i8 : dtype::u8;
            case 2:
                return is_signed ? dtype::i16 : dtype::u16;
            case 4:
                return is_signed ? dtype::i32 : dtype::u32;
            default:
                return is_signed ? dtype::i64 : dtype::u64;
        }
    }
    static constexpr dtype value = of();
};

template <class T>
    requires std::is_enum_v<T>
struct dtype_trait<T> : dtype_trait<std::underlying_type_t<T>> {
};

template <>
struct dtype_trait<float> {
    static constexpr dtype value = dtype::f32;
};
template <>
struct dtype_trait<double> {
    static constexpr dtype value = dtype::f64;
};

}  // namespace detail

/// What a tensor can hold: integers, bool, float, double, f16, bf16, and enums as the integers that
/// they are. No 128-bit integers, no long double.
template <class T>
concept element = requires {
    detail::dtype_trait<T>::value;
}
&&sizeof(T) <= 8;

/// The dtype of elements of type `T`.
template <element T>
inline constexpr dtype dtype_of = detail::dtype_trait<T>::value;

}  // namespace stoker
