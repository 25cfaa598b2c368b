#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <stoker/collate/column.hpp>
#include <stoker/collate/column_access.hpp>
#include <stoker/collate/column_view.hpp>
#include <stoker/dataset/fields.hpp>
#include <stoker/dataset/member.hpp>

namespace stoker::detail {

template <class Member>
struct is_tensor : std::false_type {};
template <class T, std::size_t... Extents>
struct is_tensor<tensor<T, Extents...>> : std::true_type {};

/// The struct that a custom collate names: its members are the columns of a whole batch, with all
/// axes. Typed access as that of `column_access`.
template <class Batch>
struct batch_struct {
    static constexpr std::size_t column_count = field_count<Batch>;
    using numbers = std::make_index_sequence<column_count>;

    template <class Member>
    using element_of = typename dense_trait<Member>::element_type;
    template <class Member>
    using extents_of = typename dense_trait<Member>::extents;
    /// A member's view: its own extents, no axis in front.
    template <class Byte, class Member>
    using view_of =
        typename extents_of<Member>::template sample_view<like_byte<Byte, element_of<Member>>>;

    static constexpr bool tensors = []<std::size_t... I>(std::index_sequence<I...>) {
        return (is_tensor<field_type<Batch, I>>::value && ...);
    }
    (numbers{});
    static_assert(tensors,
                  "stoker: the members of a collate's batch struct are stoker::tensor<T, extents…> "
                  "with all axes of the batch");

    static schema describe() {
        schema result;
        for_each_number<column_count>([&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
            using member = field_type<Batch, I>;
            static_assert(extents_of<member>::rank <= max_rank,
                          "stoker: a member of a batch struct has 8 axes at most");
            column& added = result.columns.emplace_back();
            added.name = field_name<Batch, I>;
            added.type = dtype_of<element_of<member>>;
            added.element_bytes = sizeof(element_of<member>);
            added.kind = column_kind::whole;
            for (const std::size_t extent : extents_of<member>::values)
                added.extents.push_back(extent == dynamic ? unknown_extent : extent);
        });
        return result;
    }

    template <class Member, class Byte>
    static auto view(Byte* place, const column_record& record) {
        using view_type = view_of<Byte, Member>;
        std::array<std::uint64_t, view_type::rank()> all{};
        std::copy_n(record.extents.begin(), all.size(), all.begin());
        return view_type(reinterpret_cast<like_byte<Byte, element_of<Member>>*>(place), all);
    }
    template <class Byte>
    static auto columns(Byte* data, const column_record* records) {
        return [&]<std::size_t... I>(std::index_sequence<I...>) {
            return std::tuple{view<field_type<Batch, I>>(data + records[I].offset, records[I])...};
        }
        (numbers{});
    }
    template <class Byte, class Member, std::same_as<Batch> Owner>
    static auto member(Byte* data, const column_record* records, Member Owner::*pointer) {
        const column_record& record = records[number_of(pointer)];
        return view<Member>(data + record.offset, record);
    }
    template <class Byte>
    static auto named(Byte* data, const column_record* records, std::string_view name) {
        static const schema described = describe();
        return column_named(described, data, records, name);
    }

    template <class Member>
    static std::size_t number_of(Member Batch::*pointer) {
        static_assert(std::is_object_v<Member>, "stoker: not a data member of the batch struct");
        const std::size_t number = field_number(pointer);
        assert(number < column_count);
        return number;
    }
};

}  // namespace stoker::detail
