#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <stoker/collate/column.hpp>
#include <stoker/core/index.hpp>
#include <stoker/dataset/fields.hpp>
#include <stoker/dataset/member.hpp>

namespace stoker {

template <class Struct, class Byte>
class struct_view;

namespace detail {

/// `Element`, const when the batch's bytes are.
template <class Byte, class Element>
using like_byte = std::conditional_t<std::is_const_v<Byte>, const Element, Element>;

/// Throws error{shape_mismatch} that names the field, both samples and both shapes.
[[noreturn]] void throw_shape_mismatch(const column& field, index first,
                                       const std::uint64_t* first_extents, index other,
                                       const std::uint64_t* other_extents);

/// How members of one type become columns: specialise this for a member type, in a header that
/// `member_types.hpp` includes, and nothing else.
///
/// A specialisation has
/// - `column_count`, and `fixed`: a batch's layout follows from its number of samples;
/// - `describe(name, columns)`: appends its columns;
/// - `view(data, records)`: the typed view of its columns in a batch;
/// - `plan`: what is learned from a batch's samples. Unless fixed, `add(member, sample, columns)`
///   sees each of them, in order, then `finish(samples, columns, records)` fills rank, extents and
///   bytes of the records, and, when there is memory, `begin(starts)` writes what belongs to no
///   sample; then, or at once when fixed, `store(member, starts, number)` writes each to its
///   columns, which begin at `starts`; in order unless fixed.
///
/// Members come as pointers, null where a std::optional around them is empty.
template <class Member>
struct collation {
    static constexpr bool closed_class = std::is_class_v<Member> && !std::is_aggregate_v<Member>;
    static_assert(
        !closed_class,
        "stoker: member type cannot be collated, since it is a class with constructors, "
        "private members or virtual functions; make it a plain struct, use stoker::padded, "
        "stoker::ragged or std::string, or give the loader a stoker::collate");
    static_assert(
        !std::is_pointer_v<Member>,
        "stoker: member type cannot be collated, since a pointer means nothing in another "
        "process; use the values themselves");
    static_assert(closed_class || std::is_pointer_v<Member>,
                  "stoker: member type cannot be collated; use arithmetic types, bool, enums, f16, "
                  "bf16, stoker::tensor, std::array of these, stoker::padded, stoker::ragged, "
                  "std::string, std::optional of these, or a nested struct; or a stoker::collate");
};

template <class T, class Allocator>
struct collation<std::vector<T, Allocator>> {
    static_assert(sizeof(T) == 0,
                  "stoker: a std::vector member does not say how it is collated; use "
                  "stoker::padded<T, value>, [batch, longest] with lengths, or stoker::ragged<T>, "
                  "values with offsets, which are filled like one");
};

/// Scalars, arrays and tensors: one column.
template <dense_member Member>
struct collation<Member> {
    using trait = dense_trait<Member>;
    using element_type = typename trait::element_type;
    using extents = typename trait::extents;
    static_assert(extents::rank < max_rank, "stoker: a member of a sample has 7 axes at most");

    static constexpr std::size_t column_count = 1;
    static constexpr bool fixed = trait::inlined;

    static void describe(const std::string& name, std::vector<column>& columns) {
        column& added = columns.emplace_back();
        added.name = name.empty() ? "value" : name;
        added.type = dtype_of<element_type>;
        added.element_bytes = sizeof(element_type);
        for (const std::size_t extent : extents::values)
            added.extents.push_back(extent == dynamic ? unknown_extent : extent);
    }

    template <class Byte>
    static auto view(Byte* data, const column_record* records) {
        using element = like_byte<Byte, element_type>;
        std::array<std::uint64_t, extents::rank + 1> all{};
        std::copy_n(records->extents.begin(), all.size(), all.begin());
        return typename extents::template batch_view<element>(
            reinterpret_cast<element*>(data + records->offset), all);
    }

    class plan {
      public:
        void add(const Member* member, index sample, const column* columns) {
            if constexpr (!fixed) {
                if (member == nullptr)
                    return;
                const auto shape = member->shape();
                std::array<std::uint64_t, extents::rank> found{};
                std::copy(shape.begin(), shape.end(), found.begin());
                if (!any_) {
                    any_ = true;
                    first_ = sample;
                    agreed_ = found;
                } else if (found != agreed_) {
                    throw_shape_mismatch(*columns, first_, agreed_.data(), sample, found.data());
                }
            }
        }
        void finish(std::uint64_t samples, const column* columns, column_record* records) const {
            records->rank = extents::rank + 1;
            records->extents = {samples};
            for (std::size_t axis = 0; axis < extents::rank; ++axis) {
                std::uint64_t extent = extents::values[axis];
                if constexpr (!fixed) {
                    if (extents::values[axis] == dynamic)
                        extent = agreed_[axis];
                }
                records->extents[axis + 1] = extent;
            }
            set_bytes(*records, *columns);
        }
        void begin(std::byte* const*) const {}
        void store(const Member* member, std::byte* const* starts, std::uint64_t number) const {
            const std::size_t bytes = bytes_of_one();
            if (bytes == 0)
                return;
            std::byte* const place = *starts + number * bytes;
            if (member == nullptr) {
                std::memset(place, 0, bytes);
            } else if constexpr (fixed) {
                std::memcpy(place, member, bytes);
            } else {
                std::memcpy(place, member->data(), bytes);
            }
        }

      private:
        /// Without samples that have it, a run-time extent is 0.
        std::size_t bytes_of_one() const {
            if constexpr (fixed) {
                return row_bytes<Member>;
            } else {
                std::size_t bytes = sizeof(element_type);
                for (const std::uint64_t extent : agreed_)
                    bytes *= static_cast<std::size_t>(extent);
                return bytes;
            }
        }

        struct nothing {};
        using agreed = std::conditional_t<fixed, nothing, std::array<std::uint64_t, extents::rank>>;
        [[no_unique_address]] agreed agreed_{};
        index first_ = 0;
        bool any_ = false;
    };
};

/// Structs: the columns of their members, one after the other, named "outer.inner".
template <struct_member Struct>
    requires(!is_std_array<Struct>::value)
struct collation<Struct> {
    static constexpr std::size_t field_total = field_count<Struct>;
    template <std::size_t I>
    using member_collation = collation<field_type<Struct, I>>;
    using numbers = std::make_index_sequence<field_total>;

    static constexpr std::size_t column_count = []<std::size_t... I>(std::index_sequence<I...>) {
        return (std::size_t{0} + ... + member_collation<I>::column_count);
    }
    (numbers{});
    static constexpr bool fixed = []<std::size_t... I>(std::index_sequence<I...>) {
        return (true && ... && member_collation<I>::fixed);
    }
    (numbers{});
    /// Number of each member's first column.
    static constexpr std::array<std::size_t, field_total> first_columns =
        []<std::size_t... I>(std::index_sequence<I...>) {
        const std::array<std::size_t, field_total> counts{member_collation<I>::column_count...};
        std::array<std::size_t, field_total> firsts{};
        for (std::size_t i = 1; i < field_total; ++i)
            firsts[i] = firsts[i - 1] + counts[i - 1];
        return firsts;
    }
    (numbers{});

    static void describe(const std::string& name, std::vector<column>& columns) {
        const std::string prefix = name.empty() ? "" : name + ".";
        for_each_number<field_total>([&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
            member_collation<I>::describe(prefix + std::string{field_name<Struct, I>}, columns);
        });
    }

    template <class Byte>
    static auto view(Byte* data, const column_record* records) {
        return struct_view<Struct, Byte>(data, records);
    }

    class plan {
      public:
        void add(const Struct* sample, index number, const column* columns) {
            for_each_number<field_total>(
                [&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
                    std::get<I>(plans_).add(member<I>(sample), number, columns + first_columns[I]);
                });
        }
        void finish(std::uint64_t samples, const column* columns, column_record* records) const {
            for_each_number<field_total>(
                [&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
                    std::get<I>(plans_).finish(samples, columns + first_columns[I],
                                               records + first_columns[I]);
                });
        }
        void begin(std::byte* const* starts) const {
            for_each_number<field_total>(
                [&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
                    std::get<I>(plans_).begin(starts + first_columns[I]);
                });
        }
        void store(const Struct* sample, std::byte* const* starts, std::uint64_t number) const {
            for_each_number<field_total>(
                [&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
                    std::get<I>(plans_).store(member<I>(sample), starts + first_columns[I], number);
                });
        }

      private:
        template <std::size_t I>
        static const field_type<Struct, I>* member(const Struct* sample) {
            return sample == nullptr ? nullptr : std::addressof(field<I>(*sample));
        }

        template <class Numbers>
        struct tuple_of_plans;
        template <std::size_t... I>
        struct tuple_of_plans<std::index_sequence<I...>> {
            using type = std::tuple<typename member_collation<I>::plan...>;
        };
        typename tuple_of_plans<numbers>::type plans_;
    };
};

/// The columns of a sample type; a sample that is no struct has one, named "value".
template <class Sample>
schema schema_of() {
    schema result;
    collation<Sample>::describe({}, result.columns);
    return result;
}

}  // namespace detail

}  // namespace stoker
