#pragma once

#include <cassert>
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace stoker::detail {

/// A list that grows like a std::vector: what `padded` and `ragged` are made of. Unlike that of
/// bool, its elements lie in memory one after the other.
template <class T>
class sequence {
    /// A bool that std::vector has no packing for.
    struct boxed {
        T value;
    };
    static constexpr bool packed = std::is_same_v<T, bool>;
    using stored = std::conditional_t<packed, boxed, T>;

  public:
    using value_type = T;

    sequence() = default;
    sequence(std::initializer_list<T> elements) { assign(elements.begin(), elements.end()); }
    /// Taken over without a copy when moved in; a vector of bool is unpacked.
    sequence(std::vector<T> elements) {
        if constexpr (packed) {
            assign(elements.begin(), elements.end());
        } else {
            elements_ = std::move(elements);
        }
    }
    sequence(std::span<const T> elements) { assign(elements.begin(), elements.end()); }
    /// `size` elements, all zero.
    explicit sequence(std::size_t size) : elements_(size) {}

    std::size_t size() const noexcept { return elements_.size(); }
    bool empty() const noexcept { return elements_.empty(); }
    void reserve(std::size_t capacity) { elements_.reserve(capacity); }
    /// New elements are zero.
    void resize(std::size_t size) { elements_.resize(size); }
    void clear() noexcept { elements_.clear(); }
    void push_back(const T& element) { elements_.push_back(stored{element}); }
    template <class Iterator>
    void assign(Iterator first, Iterator last) {
        if constexpr (packed) {
            elements_.clear();
            for (; first != last; ++first)
                push_back(*first);
        } else {
            elements_.assign(first, last);
        }
    }

    T* data() noexcept { return reinterpret_cast<T*>(elements_.data()); }
    const T* data() const noexcept { return reinterpret_cast<const T*>(elements_.data()); }
    /// Checked by assert only.
    template <std::integral At>
    T& operator[](At at) {
        assert(static_cast<std::size_t>(at) < size());
        return data()[static_cast<std::size_t>(at)];
    }
    template <std::integral At>
    const T& operator[](At at) const {
        assert(static_cast<std::size_t>(at) < size());
        return data()[static_cast<std::size_t>(at)];
    }
    T* begin() noexcept { return data(); }
    T* end() noexcept { return data() + size(); }
    const T* begin() const noexcept { return data(); }
    const T* end() const noexcept { return data() + size(); }

    friend bool operator==(const sequence& left,
                           const sequence& right) requires std::equality_comparable<T> {
        if (left.size() != right.size())
            return false;
        for (std::size_t i = 0; i < left.size(); ++i) {
            if (!(left[i] == right[i]))
                return false;
        }
        return true;
    }

  private:
    std::vector<stored> elements_;
};

}  // namespace stoker::detail
