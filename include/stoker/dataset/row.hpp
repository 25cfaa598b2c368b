#pragma once

#include <array>
#include <cassert>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <memory>

#include <stoker/dataset/fields.hpp>
#include <stoker/dataset/member.hpp>

namespace stoker {

/// One sample's place in the memory of its batch, for datasets with `read(index, row)`: what is
/// written here is not copied again.
///
///     void read(stoker::index i, stoker::row<photo> row) const {
///         decode(paths[i], row[&photo::pixels].data());   // tensor_view<std::uint8_t, 224, 224,
///         3> row[&photo::label] = labels[i];
///     }
///
/// Every member must be written: the memory still holds what a batch before this one left there.
/// All extents of the sample must be known at compile time. Copied by value; valid until `read`
/// returns.
///
/// Thread safety: members of one row, and rows of one batch, may be written by distinct threads.
template <class Sample>
class row {
    static_assert(detail::inline_columns<Sample>() > 0,
                  "stoker: row<Sample> needs a sample whose extents are all known at compile time; "
                  "return samples with dynamic members from get(index) instead");

  public:
    using sample = Sample;

    /// Row `number` of columns that begin at `columns`, one for each member.
    row(std::byte* const* columns, std::size_t number) noexcept
        : columns_(columns), number_(number) {}

    /// A member's place: `T&` of a scalar, a `tensor_view` of an array or tensor, the row of a
    /// nested struct.
    template <class Member, std::same_as<Sample> Owner>
    decltype(auto) operator[](Member Owner::*member) const {
        return place<Member>(first_column(detail::field_number(member)));
    }
    /// The place of a sample that is no struct.
    decltype(auto) value() const requires detail::inline_member<Sample> {
        return place<Sample>(0);
    }
    /// Writes a whole sample.
    const row& operator=(const Sample& whole) const {
        store(whole);
        return *this;
    }

  private:
    template <class Member>
    decltype(auto) place(std::size_t column) const {
        if constexpr (detail::inline_member<Member>) {
            using trait = detail::dense_trait<Member>;
            using element_type = typename trait::element_type;
            auto* start = reinterpret_cast<element_type*>(columns_[column] +
                                                          number_ * detail::row_bytes<Member>);
            if constexpr (trait::extents::rank == 0) {
                return static_cast<element_type&>(*start);
            } else {
                return typename trait::extents::template sample_view<element_type>(start);
            }
        } else {
            return row<Member>(columns_ + column, number_);
        }
    }

    static std::size_t first_column(std::size_t field) {
        static constexpr auto firsts = []<std::size_t... I>(std::index_sequence<I...>) {
            return std::array{detail::first_inline_column<Sample, I>()...};
        }
        (std::make_index_sequence<detail::field_count<Sample>>{});
        assert(field < firsts.size());
        return firsts[field];
    }

    void store(const Sample& whole) const {
        if constexpr (detail::inline_member<Sample>) {
            std::memcpy(columns_[0] + number_ * detail::row_bytes<Sample>, std::addressof(whole),
                        detail::row_bytes<Sample>);
        } else {
            detail::for_each_number<detail::field_count<Sample>>(
                [&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
                    const auto& member = detail::field<I>(whole);
                    constexpr std::size_t first = detail::first_inline_column<Sample, I>();
                    using member_type = detail::field_type<Sample, I>;
                    if constexpr (detail::inline_member<member_type>) {
                        std::memcpy(columns_[first] + number_ * detail::row_bytes<member_type>,
                                    std::addressof(member), detail::row_bytes<member_type>);
                    } else {
                        row<member_type>(columns_ + first, number_) = member;
                    }
                });
        }
    }

    std::byte* const* columns_;
    std::size_t number_;
};

namespace detail {

/// Where the members of one sample object lie, as if they were columns of one row.
template <class Sample>
void point_into(Sample& sample, std::byte** columns) {
    if constexpr (inline_member<Sample>) {
        columns[0] = reinterpret_cast<std::byte*>(std::addressof(sample));
    } else {
        for_each_number<field_count<Sample>>(
            [&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
                point_into(field<I>(sample), columns + first_inline_column<Sample, I>());
            });
    }
}

}  // namespace detail

}  // namespace stoker
