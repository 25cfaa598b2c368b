#pragma once

#include <array>
#include <cassert>
#include <concepts>
#include <cstddef>
#include <new>
#include <type_traits>

namespace stoker {

/// An extent that is known only at run time: `tensor<float, dynamic, 3>`.
inline constexpr std::size_t dynamic = static_cast<std::size_t>(-1);

namespace detail {

/// Throws error{shape_mismatch}: a tensor's extents contradict those of its type.
[[noreturn]] void throw_extent_mismatch(std::size_t axis, std::size_t given, std::size_t wanted);

/// The extents of a row-major array: those of the type cost nothing, the others are stored.
template <std::size_t... Extents>
class shape_storage {
  public:
    static constexpr std::size_t rank = sizeof...(Extents);
    static constexpr std::size_t dynamic_rank = (std::size_t{0} + ... + (Extents == dynamic));
    static constexpr std::array<std::size_t, rank> declared{Extents...};
    /// Elements, when all extents are of the type.
    static constexpr std::size_t static_size = dynamic_rank ? 0 : (std::size_t{1} * ... * Extents);

    /// Extents that are not of the type are 0.
    constexpr shape_storage() = default;
    /// Either all extents or only the run-time ones, in order.
    template <std::integral... Given>
        requires(sizeof...(Given) == rank || sizeof...(Given) == dynamic_rank)
    constexpr explicit shape_storage(Given... given) {
        const std::array<std::size_t, sizeof...(Given)> values{static_cast<std::size_t>(given)...};
        std::size_t next_given = 0;
        std::size_t next_stored = 0;
        for (std::size_t axis = 0; axis < rank; ++axis) {
            const bool stored = declared[axis] == dynamic;
            if (!stored && sizeof...(Given) != rank)
                continue;
            const std::size_t value = values[next_given++];
            if (stored) {
                store(next_stored++, value);
            } else if (value != declared[axis]) {
                throw_extent_mismatch(axis, value, declared[axis]);
            }
        }
    }
    template <class Integer>
    constexpr explicit shape_storage(const std::array<Integer, rank>& extents) {
        std::size_t next_stored = 0;
        for (std::size_t axis = 0; axis < rank; ++axis) {
            const auto value = static_cast<std::size_t>(extents[axis]);
            if (declared[axis] == dynamic) {
                store(next_stored++, value);
            } else if (value != declared[axis]) {
                throw_extent_mismatch(axis, value, declared[axis]);
            }
        }
    }

    constexpr std::size_t extent(std::size_t axis) const {
        assert(axis < rank);
        if (declared[axis] != dynamic)
            return declared[axis];
        std::size_t stored = 0;
        for (std::size_t before = 0; before < axis; ++before)
            stored += declared[before] == dynamic;
        return stored_at(stored);
    }
    constexpr std::array<std::size_t, rank> extents() const {
        std::array<std::size_t, rank> result{};
        for (std::size_t axis = 0; axis < rank; ++axis)
            result[axis] = extent(axis);
        return result;
    }
    constexpr std::size_t size() const {
        if constexpr (dynamic_rank == 0)
            return static_size;
        std::size_t elements = 1;
        for (std::size_t axis = 0; axis < rank; ++axis)
            elements *= extent(axis);
        return elements;
    }
    /// Like `size()`; throws std::bad_array_new_length instead of wrapping around, since extents
    /// may come from a damaged file.
    std::size_t checked_size() const {
        std::size_t elements = 1;
        for (const std::size_t extent : extents()) {
            if (__builtin_mul_overflow(elements, extent, &elements))
                throw std::bad_array_new_length();
        }
        return elements;
    }
    /// Elements from one index of axis 0 to the next.
    constexpr std::size_t stride() const {
        std::size_t elements = 1;
        for (std::size_t axis = 1; axis < rank; ++axis)
            elements *= extent(axis);
        return elements;
    }
    /// Where element (at…) lies.
    template <std::integral... At>
    constexpr std::size_t offset(At... at) const {
        static_assert(sizeof...(At) == rank, "stoker: one index for each axis");
        std::size_t axis = 0;
        std::size_t result = 0;
        ((assert(static_cast<std::size_t>(at) < extent(axis)),
          result = result * extent(axis) + static_cast<std::size_t>(at), ++axis),
         ...);
        return result;
    }

  private:
    constexpr void store(std::size_t at, std::size_t value) {
        if constexpr (dynamic_rank > 0)
            stored_[at] = value;
    }
    constexpr std::size_t stored_at(std::size_t at) const {
        if constexpr (dynamic_rank > 0)
            return stored_[at];
        return 0;
    }

    struct nothing {};  // std::array<…, 0> is no empty class
    using stored_type =
        std::conditional_t<dynamic_rank == 0, nothing, std::array<std::size_t, dynamic_rank>>;
    [[no_unique_address]] stored_type stored_{};
};

}  // namespace detail

}  // namespace stoker
