#pragma once

#include <stoker/tensor/dtype.hpp>

namespace stoker::detail {

constexpr bool is_floating(dtype type) {
    return type == dtype::f16 || type == dtype::bf16 || type == dtype::f32 || type == dtype::f64;
}

/// Whether a device casts from one to the other: to i32 and i64 from integers, modulo 2^bits; to
/// f32, f16 and bf16 from all, by way of f32. Not from floating types to integers, which would have
/// to say how they round.
constexpr bool can_cast(dtype from, dtype to) {
    switch (to) {
        case dtype::i32:
        case dtype::i64:
            return !is_floating(from);
        case dtype::f32:
        case dtype::f16:
        case dtype::bf16:
            return true;
        default:
            return false;
    }
}

}  // namespace stoker::detail
