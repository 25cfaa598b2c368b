#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include <stoker/collate/column.hpp>
#include <stoker/tensor/dtype.hpp>
#include <stoker/tensor/tensor_view.hpp>

namespace stoker {

namespace detail {

/// Throws error{invalid_option}: `as` was asked for a view that the column is not. `wanted` holds
/// `rank` extents, `dynamic` for any.
[[noreturn]] void throw_view_mismatch(std::string_view name, dtype type,
                                      std::span<const std::uint64_t> shape, dtype wanted_type,
                                      std::span<const std::size_t> wanted);

/// The parts of a view's type.
template <class View>
struct view_parts;
template <class T, std::size_t... Extents>
struct view_parts<tensor_view<T, Extents...>> {
    using element_type = T;
    static constexpr std::array<std::size_t, sizeof...(Extents)> extents{Extents...};
};

}  // namespace detail

/// A column that was asked for by name: type and shape are known at run time, `as` makes it typed.
///
///     auto any = batch["pixels"];
///     auto pixels = any.as<stoker::tensor_view<const std::uint8_t, stoker::dynamic, 8, 8>>();
///
/// `Byte` is `const std::byte` where the batch is const. Copied by value; valid as long as the
/// batch.
///
/// Thread safety: that of the batch, whose memory it looks at.
template <class Byte>
class basic_column_view {
  public:
    basic_column_view(std::string_view name, dtype type, Byte* data,
                      const detail::column_record& record) noexcept
        : name_(name), type_(type), data_(data + record.offset), record_(&record) {}

    std::string_view name() const noexcept { return name_; }
    dtype type() const noexcept { return type_; }
    /// Axes, that of the batch included.
    std::size_t rank() const noexcept { return static_cast<std::size_t>(record_->rank); }
    std::span<const std::uint64_t> shape() const noexcept {
        return std::span(record_->extents).first(rank());
    }
    std::size_t extent(std::size_t axis) const { return static_cast<std::size_t>(shape()[axis]); }
    /// Elements, not bytes.
    std::size_t size() const {
        std::size_t elements = 1;
        for (const std::uint64_t each : shape())
            elements *= static_cast<std::size_t>(each);
        return elements;
    }
    /// Aligned to 256 bytes, row-major, without gaps.
    Byte* data() const noexcept { return data_; }

    /// The typed view; enums are had as themselves or as their integers. Throws
    /// error{invalid_option} that names what the column is and what was asked for.
    template <class View>
    View as() const {
        using parts = detail::view_parts<View>;
        using element_type = typename parts::element_type;
        static_assert(std::is_const_v<element_type> || !std::is_const_v<Byte>,
                      "stoker: a column of a const batch is had as tensor_view<const T, …>");
        constexpr auto& wanted = parts::extents;
        constexpr dtype wanted_type = dtype_of<std::remove_const_t<element_type>>;
        bool same = type_ == wanted_type && rank() == wanted.size();
        for (std::size_t axis = 0; same && axis < wanted.size(); ++axis)
            same = wanted[axis] == dynamic || wanted[axis] == extent(axis);
        if (!same)
            detail::throw_view_mismatch(name_, type_, shape(), wanted_type, wanted);
        std::array<std::uint64_t, wanted.size()> extents{};
        for (std::size_t axis = 0; axis < wanted.size(); ++axis)
            extents[axis] = record_->extents[axis];
        return View(reinterpret_cast<element_type*>(data_), extents);
    }

  private:
    std::string_view name_;
    dtype type_;
    Byte* data_;
    const detail::column_record* record_;
};

/// Of a const batch.
using column_view = basic_column_view<const std::byte>;
/// Of a batch that may be written.
using mutable_column_view = basic_column_view<std::byte>;

}  // namespace stoker
