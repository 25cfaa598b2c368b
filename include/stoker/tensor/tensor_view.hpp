#pragma once

#include <array>
#include <cassert>
#include <compare>
#include <concepts>
#include <cstddef>
#include <iterator>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>

#include <stoker/tensor/dtype.hpp>
#include <stoker/tensor/shape.hpp>
#include <stoker/tensor/tensor.hpp>

namespace stoker {

template <class T, std::size_t... Extents>
    requires element<std::remove_const_t<T>>
class tensor_view;

namespace detail {

/// What one index of axis 0 gives: an element, or a view of one axis less.
template <class T, std::size_t... Extents>
struct inner_view;
template <class T, std::size_t First>
struct inner_view<T, First> {
    using type = T&;
};
template <class T, std::size_t First, std::size_t... Rest>
    requires(sizeof...(Rest) > 0)
struct inner_view<T, First, Rest...> {
    using type = tensor_view<T, Rest...>;
};

/// Walks over axis 0 of a view.
template <class View>
class axis_iterator {
  public:
    using iterator_concept = std::random_access_iterator_tag;
    using iterator_category = std::input_iterator_tag;
    using value_type = std::remove_cvref_t<typename View::reference>;
    using reference = typename View::reference;
    using difference_type = std::ptrdiff_t;

    axis_iterator() = default;
    axis_iterator(const View& view, difference_type at) : view_(view), at_(at) {}

    reference operator*() const { return view_[at_]; }
    reference operator[](difference_type by) const { return view_[at_ + by]; }
    axis_iterator& operator++() { return *this += 1; }
    axis_iterator operator++(int) { return std::exchange(*this, *this + 1); }
    axis_iterator& operator--() { return *this -= 1; }
    axis_iterator operator--(int) { return std::exchange(*this, *this - 1); }
    axis_iterator& operator+=(difference_type by) {
        at_ += by;
        return *this;
    }
    axis_iterator& operator-=(difference_type by) { return *this += -by; }
    friend axis_iterator operator+(axis_iterator it, difference_type by) { return it += by; }
    friend axis_iterator operator+(difference_type by, axis_iterator it) { return it += by; }
    friend axis_iterator operator-(axis_iterator it, difference_type by) { return it -= by; }
    friend difference_type operator-(const axis_iterator& left, const axis_iterator& right) {
        return left.at_ - right.at_;
    }
    friend bool operator==(const axis_iterator& left, const axis_iterator& right) {
        return left.at_ == right.at_;
    }
    friend auto operator<=>(const axis_iterator& left, const axis_iterator& right) {
        return left.at_ <=> right.at_;
    }

  private:
    View view_{};
    difference_type at_ = 0;
};

}  // namespace detail

/// Looks at a row-major array that something else owns: a batch's column, whose axis 0 is the
/// batch, or one sample of it. Copied by value, a pointer and the extents that are not of the type.
/// Const like a span: `tensor_view<const T, …>` is the one that cannot write.
///
///     stoker::tensor_view<const float, stoker::dynamic, 3> points = batch[&cloud::center];
///     for (auto point : points) use(point[0], point[1], point[2]);
///
/// Indices are checked by assert only. Valid as long as the memory: of a batch's views, the batch.
///
/// Thread safety: that of the array it looks at.
template <class T, std::size_t... Extents>
    requires element<std::remove_const_t<T>>
class tensor_view {
    using shape_type = detail::shape_storage<Extents...>;
    static_assert(sizeof...(Extents) > 0, "stoker: a view has an axis or more");

  public:
    using element_type = T;
    using value_type = std::remove_const_t<T>;
    /// `T&` with one axis, otherwise a view of the other axes.
    using reference = typename detail::inner_view<T, Extents...>::type;
    using iterator = detail::axis_iterator<tensor_view>;

    /// Of nothing: run-time extents are 0.
    constexpr tensor_view() = default;
    /// Of `data`; all extents, or the dynamic ones alone, in order.
    /// Throws error{shape_mismatch} when one contradicts the type.
    template <std::integral... Given>
        requires(sizeof...(Given) == shape_type::rank ||
                 sizeof...(Given) == shape_type::dynamic_rank)
    constexpr explicit tensor_view(T* data, Given... extents) : data_(data), shape_(extents...) {}
    template <std::integral Integer>
    constexpr explicit tensor_view(T* data, const std::array<Integer, sizeof...(Extents)>& extents)
        : data_(data), shape_(extents) {}
    /// Of a tensor with the same extents.
    constexpr tensor_view(tensor<value_type, Extents...>& owner)
        : data_(owner.data()), shape_(owner.shape()) {}
    constexpr tensor_view(const tensor<value_type, Extents...>& owner) requires std::is_const_v<T>
        : data_(owner.data()), shape_(owner.shape()) {}
    /// What may write can be had as what may not.
    template <std::same_as<value_type> Writable>
        requires(std::is_const_v<T>)
    constexpr tensor_view(const tensor_view<Writable, Extents...>& other)
        : data_(other.data()), shape_(other.shape()) {}

    static constexpr std::size_t rank() { return shape_type::rank; }
    constexpr std::size_t size() const { return shape_.size(); }
    constexpr std::size_t extent(std::size_t axis) const { return shape_.extent(axis); }
    constexpr std::array<std::size_t, sizeof...(Extents)> shape() const { return shape_.extents(); }
    /// All `size()` elements lie here in row-major order, without gaps.
    constexpr T* data() const { return data_; }
    /// The same as a range, whatever the number of axes.
    constexpr std::span<T> elements() const { return {data_, size()}; }

    /// The element at one index for each axis.
    template <std::integral... At>
        requires(sizeof...(At) == sizeof...(Extents))
    constexpr T& operator()(At... at) const { return data_[shape_.offset(at...)]; }
    /// What lies at `at` on axis 0: an element, or the view of the other axes.
    template <std::integral At>
    constexpr reference operator[](At at) const {
        const auto first = static_cast<std::size_t>(at);
        assert(first < extent(0));
        if constexpr (rank() == 1) {
            return data_[first];
        } else {
            std::array<std::size_t, rank() - 1> rest{};
            for (std::size_t axis = 1; axis < rank(); ++axis)
                rest[axis - 1] = extent(axis);
            return reference(data_ + first * shape_.stride(), rest);
        }
    }
    /// Over axis 0.
    iterator begin() const { return iterator(*this, 0); }
    iterator end() const { return iterator(*this, static_cast<std::ptrdiff_t>(extent(0))); }

  private:
    T* data_ = nullptr;
    [[no_unique_address]] shape_type shape_;
};

}  // namespace stoker

/// @cond
// As a range a view is as long as its axis 0; its `size()` counts elements.
template <class T, std::size_t... Extents>
inline constexpr bool std::ranges::disable_sized_range<stoker::tensor_view<T, Extents...>> = true;
/// @endcond
