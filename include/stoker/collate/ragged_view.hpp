#pragma once

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
#include <stoker/dataset/ragged.hpp>
#include <stoker/tensor/tensor_view.hpp>

namespace stoker {

/// The columns of a `ragged` member in a batch: the values of all samples, one sample after the
/// other, and the offsets that divide them. `T` is const where the batch is; `Inner` are the
/// extents of one value, none of an element.
///
///     auto weights = batch[&scene::weights];      // ragged_view<float>
///     for (float weight : weights[3]) …           // those of sample 3
///     step(weights.values(), weights.offsets());  // as the packed formats of other libraries have
///
/// Copied by value; valid as long as the batch. Indices are checked by assert only.
///
/// Thread safety: that of the batch, whose memory it looks at.
template <class T, std::size_t... Inner>
class ragged_view {
    static constexpr bool flat = sizeof...(Inner) == 0;
    static constexpr std::size_t stride = (std::size_t{1} * ... * Inner);

  public:
    /// One sample's values: a span; of tensors a view [length, their axes].
    using reference =
        typename std::conditional_t<flat, std::type_identity<std::span<T>>,
                                    std::type_identity<tensor_view<T, dynamic, Inner...>>>::type;
    using iterator = detail::axis_iterator<ragged_view>;

    ragged_view() = default;
    /// `offsets` has one number more than there are samples.
    ragged_view(T* values, std::span<const std::int64_t> offsets) noexcept
        : values_(values), offsets_(offsets) {}

    /// Samples.
    std::size_t size() const { return offsets_.empty() ? 0 : offsets_.size() - 1; }
    /// The values of all samples: as many as the last offset says.
    reference values() const {
        return reference(values_, offsets_.empty() ? 0 : static_cast<std::size_t>(offsets_.back()));
    }
    /// Those of sample i are numbers offsets()[i] up to, without, offsets()[i + 1]; size() + 1.
    std::span<const std::int64_t> offsets() const { return offsets_; }

    /// The values of sample `at`.
    template <std::integral At>
    reference operator[](At at) const {
        const auto sample = static_cast<std::size_t>(at);
        assert(sample < size());
        const auto first = static_cast<std::size_t>(offsets_[sample]);
        const auto last = static_cast<std::size_t>(offsets_[sample + 1]);
        return reference(values_ + first * stride, last - first);
    }
    /// Over the samples.
    iterator begin() const { return iterator(*this, 0); }
    iterator end() const { return iterator(*this, static_cast<std::ptrdiff_t>(size())); }

  private:
    T* values_ = nullptr;
    std::span<const std::int64_t> offsets_{};
};

namespace detail {

/// The offsets that a record of them describes.
inline std::span<const std::int64_t> offsets_at(const std::byte* data,
                                                const column_record& record) noexcept {
    return {reinterpret_cast<const std::int64_t*>(data + record.offset),
            static_cast<std::size_t>(record.extents[0])};
}

/// Makes columns from number `first` on the values of lists, and appends the column "name.offsets"
/// that divides them.
void describe_offsets(const std::string& name, std::size_t first, std::vector<column>& columns);

/// How long lists become their offsets; the values are stored by others.
class offsets_plan {
  public:
    void add(std::uint64_t length) { total_ += length; }
    std::uint64_t total() const { return total_; }
    static void finish(std::uint64_t samples, const column& described, column_record& record) {
        record.rank = 1;
        record.extents = {samples + 1};
        set_bytes(record, described);
    }
    static void begin(std::byte* start) { *reinterpret_cast<std::int64_t*>(start) = 0; }
    /// Gives where the values of list `number` begin. In order.
    static std::size_t store(std::byte* start, std::uint64_t number, std::size_t length) {
        auto* const offsets = reinterpret_cast<std::int64_t*>(start);
        offsets[number + 1] = offsets[number] + static_cast<std::int64_t>(length);
        return static_cast<std::size_t>(offsets[number]);
    }

  private:
    std::uint64_t total_ = 0;
};

/// The batch's view with the extents of one value.
template <class T, class Extents>
struct ragged_view_of;
template <class T, std::size_t... Inner>
struct ragged_view_of<T, extent_list<Inner...>> : std::type_identity<ragged_view<T, Inner...>> {};

/// Ragged lists of elements or tensors: a column of values and one of offsets.
template <inline_member T>
struct collation<ragged<T>> {
    using item = collation<T>;
    static constexpr std::size_t column_count = 2;
    static constexpr bool fixed = false;

    static void describe(const std::string& name, std::vector<column>& columns) {
        const std::size_t first = columns.size();
        item::describe(name, columns);
        describe_offsets(columns.back().name, first, columns);
    }

    template <class Byte>
    static auto view(Byte* data, const column_record* records) {
        using element = like_byte<Byte, typename item::element_type>;
        using view_type = typename ragged_view_of<element, typename item::extents>::type;
        return view_type(reinterpret_cast<element*>(data + records[0].offset),
                         offsets_at(data, records[1]));
    }

    class plan {
      public:
        void add(const ragged<T>* member, index, const column*) {
            if (member != nullptr)
                offsets_.add(member->size());
        }
        void finish(std::uint64_t samples, const column* columns, column_record* records) const {
            typename item::plan{}.finish(offsets_.total(), columns, records);
            offsets_.finish(samples, columns[1], records[1]);
        }
        void begin(std::byte* const* starts) const { offsets_.begin(starts[1]); }
        void store(const ragged<T>* member, std::byte* const* starts, std::uint64_t number) const {
            static_assert(sizeof(T) == row_bytes<T>);
            const std::size_t length = member == nullptr ? 0 : member->size();
            const std::size_t first = offsets_.store(starts[1], number, length);
            if (length > 0)
                std::memcpy(starts[0] + first * sizeof(T), member->data(), length * sizeof(T));
        }

      private:
        offsets_plan offsets_;
    };
};

}  // namespace detail

}  // namespace stoker
