#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <stoker/collate/collation.hpp>
#include <stoker/collate/ragged_view.hpp>
#include <stoker/dataset/ragged.hpp>

namespace stoker {

/// The columns of a `ragged` member whose values are structs: those of the struct's members, which
/// share one list of offsets. `Byte` is `const std::byte` where the batch is const.
///
///     auto boxes = batch[&scene::boxes];
///     for (float x : boxes[&box::x][3]) …         // those of sample 3
///     auto [x, y, label] = boxes.columns();       // a ragged_view each
///
/// Copied by value; valid as long as the batch. Indices are checked by assert only.
///
/// Thread safety: that of the batch, whose memory it looks at.
template <class Struct, class Byte>
class ragged_struct_view {
    using collation_type = detail::collation<Struct>;

  public:
    ragged_struct_view(Byte* data, const detail::column_record* records,
                       std::span<const std::int64_t> offsets) noexcept
        : data_(data), records_(records), offsets_(offsets) {}

    /// Samples.
    std::size_t size() const { return offsets_.size() - 1; }
    /// How many structs sample `sample` has.
    std::size_t length(std::size_t sample) const {
        assert(sample < size());
        return static_cast<std::size_t>(offsets_[sample + 1] - offsets_[sample]);
    }
    /// As those of `ragged_view`.
    std::span<const std::int64_t> offsets() const { return offsets_; }

    /// Views of all members, in order, for structured bindings.
    auto columns() const {
        return [this]<std::size_t... I>(std::index_sequence<I...>) {
            return std::tuple{this->template view<detail::field_type<Struct, I>>(I)...};
        }
        (typename collation_type::numbers{});
    }
    /// View of one member: a `ragged_view`, of a nested struct another view like this one.
    template <class Member>
    auto operator[](Member Struct::*member) const {
        static_assert(std::is_object_v<Member>, "stoker: not a data member of the struct");
        const std::size_t number = detail::field_number(member);
        assert(number < collation_type::field_total);
        return view<Member>(number);
    }

  private:
    template <class Member>
    auto view(std::size_t number) const {
        const detail::column_record* first = records_ + collation_type::first_columns[number];
        if constexpr (detail::inline_member<Member>) {
            using item = detail::collation<Member>;
            using element = detail::like_byte<Byte, typename item::element_type>;
            using view_type =
                typename detail::ragged_view_of<element, typename item::extents>::type;
            return view_type(reinterpret_cast<element*>(data_ + first->offset), offsets_);
        } else {
            return ragged_struct_view<Member, Byte>(data_, first, offsets_);
        }
    }

    Byte* data_;
    const detail::column_record* records_;
    std::span<const std::int64_t> offsets_;
};

namespace detail {

/// Whether a struct has a member of that name.
template <class Struct>
constexpr bool has_field_named(std::string_view name) {
    return [name]<std::size_t... I>(std::index_sequence<I...>) {
        return ((field_name<Struct, I> == name) || ...);
    }
    (std::make_index_sequence<field_count<Struct>>{});
}

/// Ragged lists of structs: a column of values for each member, and one of offsets.
template <struct_member T>
    requires(!inline_member<T>)
struct collation<ragged<T>> {
    using item = collation<T>;
    static_assert(!has_field_named<T>("offsets"),
                  "stoker: a struct in a stoker::ragged may not have a member named offsets: the "
                  "batch has a column of that name beside those of the members");
    static constexpr std::size_t column_count = item::column_count + 1;
    static constexpr bool fixed = false;

    static void describe(const std::string& name, std::vector<column>& columns) {
        const std::size_t first = columns.size();
        item::describe(name, columns);
        describe_offsets(name, first, columns);
    }

    template <class Byte>
    static auto view(Byte* data, const column_record* records) {
        return ragged_struct_view<T, Byte>(data, records,
                                           offsets_at(data, records[item::column_count]));
    }

    class plan {
      public:
        void add(const ragged<T>* member, index, const column*) {
            if (member != nullptr)
                offsets_.add(member->size());
        }
        void finish(std::uint64_t samples, const column* columns, column_record* records) const {
            typename item::plan{}.finish(offsets_.total(), columns, records);
            offsets_.finish(samples, columns[item::column_count], records[item::column_count]);
        }
        void begin(std::byte* const* starts) const { offsets_.begin(starts[item::column_count]); }
        void store(const ragged<T>* member, std::byte* const* starts, std::uint64_t number) const {
            const std::size_t length = member == nullptr ? 0 : member->size();
            const std::size_t first = offsets_.store(starts[item::column_count], number, length);
            for (std::size_t i = 0; i < length; ++i)
                typename item::plan{}.store(std::addressof((*member)[i]), starts, first + i);
        }

      private:
        offsets_plan offsets_;
    };
};

}  // namespace detail

}  // namespace stoker
