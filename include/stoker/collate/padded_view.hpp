#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <stoker/collate/collation.hpp>
#include <stoker/dataset/padded.hpp>
#include <stoker/tensor/tensor_view.hpp>

namespace stoker {

/// The column of a `padded` member in a batch, [batch, longest] and the axes of one of its
/// elements, with the lengths of its rows. `T` is const where the batch is.
///
///     auto tokens = batch[&sentence::tokens];     // padded_view<std::int32_t>
///     step(tokens.data(), tokens.extent(0), tokens.extent(1), tokens.lengths());
///     for (auto row : tokens) use(row);           // each as long as it was, without its padding
///
/// `longest` is that of this batch, 0 when all its lists are empty. Copied by value; valid as long
/// as the batch. Indices are checked by assert only.
///
/// Thread safety: that of the batch, whose memory it looks at.
template <class T, std::size_t... Inner>
class padded_view {
    static constexpr bool flat = sizeof...(Inner) == 0;

  public:
    /// The column with its padding, as a tensor.
    using tensor_type = tensor_view<T, dynamic, dynamic, Inner...>;
    /// One sample's list: a span; of tensors a view [length, their axes].
    using reference =
        typename std::conditional_t<flat, std::type_identity<std::span<T>>,
                                    std::type_identity<tensor_view<T, dynamic, Inner...>>>::type;
    using iterator = detail::axis_iterator<padded_view>;

    padded_view() = default;
    padded_view(tensor_type whole, const std::int64_t* lengths) noexcept
        : whole_(whole), lengths_(lengths) {}

    static constexpr std::size_t rank() { return tensor_type::rank(); }
    /// Elements, padding included.
    std::size_t size() const { return whole_.size(); }
    /// 0: the samples; 1: the longest list of the batch.
    std::size_t extent(std::size_t axis) const { return whole_.extent(axis); }
    std::array<std::size_t, rank()> shape() const { return whole_.shape(); }
    /// All `size()` elements lie here in row-major order, without gaps.
    T* data() const { return whole_.data(); }
    tensor_type tensor() const { return whole_; }
    operator tensor_type() const { return whole_; }

    /// The length of each sample's list, as many as there are samples.
    std::span<const std::int64_t> lengths() const { return {lengths_, extent(0)}; }

    /// The element at one index for each axis, padding included.
    template <std::integral... At>
        requires(sizeof...(At) == 2 + sizeof...(Inner))
    T& operator()(At... at) const { return whole_(at...); }
    /// Sample `at`'s list, without its padding.
    template <std::integral At>
    reference operator[](At at) const {
        return row(static_cast<std::size_t>(at));
    }
    reference row(std::size_t sample) const {
        assert(sample < extent(0));
        const auto length = static_cast<std::size_t>(lengths_[sample]);
        std::size_t stride = extent(1);
        ((stride *= Inner), ...);
        return reference(data() + sample * stride, length);
    }
    /// Over the samples' lists.
    iterator begin() const { return iterator(*this, 0); }
    iterator end() const { return iterator(*this, static_cast<std::ptrdiff_t>(extent(0))); }

  private:
    tensor_type whole_{};
    const std::int64_t* lengths_ = nullptr;
};

namespace detail {

/// The batch's view with the extents of one element.
template <class T, class Extents>
struct padded_view_of;
template <class T, std::size_t... Inner>
struct padded_view_of<T, extent_list<Inner...>> : std::type_identity<padded_view<T, Inner...>> {};

/// Padded lists: a column of values and one of lengths.
template <class T, auto Value>
struct collation<padded<T, Value>> {
    using member_type = padded<T, Value>;
    using item = collation<T>;
    using element_type = typename item::element_type;
    using extents = typename item::extents;
    static_assert(extents::rank + 2 <= max_rank, "stoker: a padded<tensor> has 6 axes at most");
    static_assert(sizeof(T) == row_bytes<T>);

    static constexpr std::size_t column_count = 2;
    static constexpr bool fixed = false;

    static void describe(const std::string& name, std::vector<column>& columns) {
        item::describe(name, columns);
        column& values = columns.back();
        values.extents.insert(values.extents.begin(), unknown_extent);
        const std::string values_name = values.name;
        collation<std::int64_t>::describe(values_name + ".lengths", columns);
        columns.back().kind = column_kind::lengths;
    }

    template <class Byte>
    static auto view(Byte* data, const column_record* records) {
        using element = like_byte<Byte, element_type>;
        using view_type = typename padded_view_of<element, extents>::type;
        std::array<std::uint64_t, extents::rank + 2> all{};
        std::copy_n(records->extents.begin(), all.size(), all.begin());
        return view_type(typename view_type::tensor_type(
                             reinterpret_cast<element*>(data + records[0].offset), all),
                         reinterpret_cast<const std::int64_t*>(data + records[1].offset));
    }

    class plan {
      public:
        void add(const member_type* member, index, const column*) {
            if (member != nullptr)
                longest_ = std::max(longest_, member->size());
        }
        void finish(std::uint64_t samples, const column* columns, column_record* records) const {
            records[0].rank = extents::rank + 2;
            records[0].extents = {samples, longest_};
            std::copy(extents::values.begin(), extents::values.end(),
                      records[0].extents.begin() + 2);
            set_bytes(records[0], columns[0]);
            typename collation<std::int64_t>::plan{}.finish(samples, columns + 1, records + 1);
        }
        void begin(std::byte* const*) const {}
        void store(const member_type* member, std::byte* const* starts,
                   std::uint64_t number) const {
            const std::size_t length = member == nullptr ? 0 : member->size();
            std::byte* const row = starts[0] + number * longest_ * sizeof(T);
            if (length > 0)
                std::memcpy(row, member->data(), length * sizeof(T));
            std::fill_n(reinterpret_cast<element_type*>(row + length * sizeof(T)),
                        (longest_ - length) * extents::size, member_type::padding);
            reinterpret_cast<std::int64_t*>(starts[1])[number] = static_cast<std::int64_t>(length);
        }

      private:
        std::size_t longest_ = 0;
    };
};

}  // namespace detail

}  // namespace stoker

/// @cond
// As a range a view is as long as its axis 0; its `size()` counts elements.
template <class T, std::size_t... Inner>
inline constexpr bool std::ranges::disable_sized_range<stoker::padded_view<T, Inner...>> = true;
/// @endcond
