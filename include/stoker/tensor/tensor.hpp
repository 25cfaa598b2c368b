#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <utility>

#include <stoker/tensor/dtype.hpp>
#include <stoker/tensor/shape.hpp>

namespace stoker {

namespace detail {

/// Largest tensor that is part of its sample: samples are returned by value, on the stack.
inline constexpr std::size_t inline_tensor_bytes = std::size_t{1} << 20;

/// Elements inside the object; their number is of the type.
template <class T, std::size_t Size>
class inline_elements {
  public:
    static_assert(Size > 0, "stoker: the extents of a tensor are 1 or more");
    static_assert(Size <= inline_tensor_bytes / sizeof(T),
                  "stoker: a tensor of static extents lies inside its sample and may have 1 MiB; "
                  "for larger ones give the dataset read(index, row), which writes them where the "
                  "batch is, or make an extent stoker::dynamic");
    constexpr T* data() { return elements_; }
    constexpr const T* data() const { return elements_; }

  private:
    T elements_[Size]{};
};

/// Elements on the heap, copied with their owner.
template <class T>
class heap_elements {
  public:
    heap_elements() = default;
    explicit heap_elements(std::size_t size)
        : elements_(size == 0 ? nullptr : std::make_unique<T[]>(size)), size_(size) {}
    heap_elements(const heap_elements& other) : heap_elements(other.size_) {
        std::copy_n(other.data(), size_, data());
    }
    heap_elements(heap_elements&& other) noexcept
        : elements_(std::move(other.elements_)), size_(std::exchange(other.size_, 0)) {}
    heap_elements& operator=(heap_elements other) noexcept {
        std::swap(elements_, other.elements_);
        std::swap(size_, other.size_);
        return *this;
    }
    ~heap_elements() = default;

    T* data() { return elements_.get(); }
    const T* data() const { return elements_.get(); }

  private:
    std::unique_ptr<T[]> elements_;
    std::size_t size_ = 0;
};

/// A shape that goes along when the elements it describes are moved away.
template <class Shape>
class moving_shape : public Shape {
  public:
    using Shape::Shape;
    moving_shape() = default;
    moving_shape(const moving_shape&) = default;
    moving_shape(moving_shape&& other) noexcept : Shape(other) { other.reset(); }
    moving_shape& operator=(const moving_shape&) = default;
    moving_shape& operator=(moving_shape&& other) noexcept {
        if (this != &other) {
            Shape::operator=(other);
            other.reset();
        }
        return *this;
    }
    ~moving_shape() = default;

  private:
    void reset() { Shape::operator=(Shape{}); }
};

}  // namespace detail

/// A member of a sample: an owning, row-major array whose extents are of its type, or `dynamic`.
///
/// With static extents the elements lie inside the object (1 MiB at most), which is trivially
/// copyable then; in a batch such members are written in place. With a `dynamic` extent they lie on
/// the heap, and the samples of a batch must agree in shape. Elements start as zeros.
///
///     struct digit { stoker::tensor<std::uint8_t, 8, 8> pixels; std::int64_t label; };
///     stoker::tensor<float, stoker::dynamic, 2> points(n, 2);   // or points(n)
///
/// Indices are checked by assert only. A moved-from dynamic tensor is like a default-constructed
/// one.
///
/// Thread safety: that of an array; distinct elements may be written by distinct threads.
template <element T, std::size_t... Extents>
class tensor {
    using shape_type = detail::shape_storage<Extents...>;
    static_assert(sizeof...(Extents) > 0,
                  "stoker: a tensor has an extent or more; use the bare type");
    static constexpr bool inlined = shape_type::dynamic_rank == 0;

  public:
    using value_type = T;

    constexpr tensor() = default;
    /// The elements in row-major order; those left out are 0. Static extents only.
    constexpr tensor(std::initializer_list<T> elements) requires(inlined) {
        if (elements.size() > size())
            detail::throw_extent_mismatch(0, elements.size(), size());
        std::copy(elements.begin(), elements.end(), data());
    }
    /// All extents, or the dynamic ones alone. Throws error{shape_mismatch} when one contradicts
    /// the type, std::bad_alloc when there is not that much memory.
    template <std::integral... Given>
        requires(!inlined && (sizeof...(Given) == shape_type::rank ||
                              sizeof...(Given) == shape_type::dynamic_rank))
    explicit tensor(Given... extents) : shape_(extents...), elements_(shape_.checked_size()) {}

    static constexpr std::size_t rank() { return shape_type::rank; }
    constexpr std::size_t size() const { return shape_.size(); }
    constexpr std::size_t extent(std::size_t axis) const { return shape_.extent(axis); }
    constexpr std::array<std::size_t, sizeof...(Extents)> shape() const { return shape_.extents(); }

    constexpr T* data() { return elements_.data(); }
    constexpr const T* data() const { return elements_.data(); }
    /// All elements, in row-major order.
    constexpr T* begin() { return data(); }
    constexpr T* end() { return data() + size(); }
    constexpr const T* begin() const { return data(); }
    constexpr const T* end() const { return data() + size(); }

    /// The element at one index for each axis.
    template <std::integral... At>
        requires(sizeof...(At) == sizeof...(Extents))
    constexpr T& operator()(At... at) { return data()[shape_.offset(at...)]; }
    template <std::integral... At>
        requires(sizeof...(At) == sizeof...(Extents))
    constexpr const T& operator()(At... at) const { return data()[shape_.offset(at...)]; }

    /// The same where there is one axis.
    template <std::integral At>
        requires(sizeof...(Extents) == 1)
    constexpr T& operator[](At at) { return (*this)(at); }
    template <std::integral At>
        requires(sizeof...(Extents) == 1)
    constexpr const T& operator[](At at) const { return (*this)(at); }

    constexpr void fill(const T& value) { std::fill(begin(), end(), value); }

    /// Equal shapes and equal elements.
    friend constexpr bool operator==(const tensor& left, const tensor& right) {
        return left.shape() == right.shape() && std::equal(left.begin(), left.end(), right.begin());
    }

  private:
    using elements_type = typename std::conditional_t<
        inlined,
        std::type_identity<detail::inline_elements<T, inlined ? shape_type::static_size : 1>>,
        std::type_identity<detail::heap_elements<T>>>::type;

    using kept_shape = std::conditional_t<inlined, shape_type, detail::moving_shape<shape_type>>;
    [[no_unique_address]] kept_shape shape_;
    [[no_unique_address]] elements_type elements_;
};

}  // namespace stoker
