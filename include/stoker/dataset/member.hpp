#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include <stoker/dataset/fields.hpp>
#include <stoker/tensor/dtype.hpp>
#include <stoker/tensor/tensor.hpp>
#include <stoker/tensor/tensor_view.hpp>

namespace stoker::detail {

/// A list of extents as a type.
template <std::size_t... Extents>
struct extent_list {
    static constexpr std::size_t rank = sizeof...(Extents);
    static constexpr std::size_t size = (std::size_t{1} * ... * Extents);
    static constexpr std::array<std::size_t, rank> values{Extents...};
    template <std::size_t First>
    using prepend = extent_list<First, Extents...>;
    /// View of one sample; of one element when there is no axis.
    template <class T>
    using sample_view = tensor_view<T, Extents...>;
    /// View of a batch of samples.
    template <class T>
    using batch_view = tensor_view<T, dynamic, Extents...>;
};

/// What member types that are plain arrays of elements look like. `inlined`: the elements lie in
/// the object itself, so that its bytes are a row of the column.
template <class Member>
struct dense_trait {
    static constexpr bool dense = false;
    static constexpr bool inlined = false;
};

template <element T>
struct dense_trait<T> {
    static constexpr bool dense = true;
    static constexpr bool inlined = true;
    using element_type = T;
    using extents = extent_list<>;
};

template <class T, std::size_t N>
    requires(dense_trait<T>::inlined)
struct dense_trait<std::array<T, N>> {
    static_assert(N > 0, "stoker: a std::array in a sample needs at least one element");
    static constexpr bool dense = true;
    static constexpr bool inlined = true;
    using element_type = typename dense_trait<T>::element_type;
    using extents = typename dense_trait<T>::extents::template prepend<N>;
};

template <element T, std::size_t... Extents>
struct dense_trait<tensor<T, Extents...>> {
    static constexpr bool dense = true;
    static constexpr bool inlined = ((Extents != dynamic) && ...);
    using element_type = T;
    using extents = extent_list<Extents...>;
};

template <class Member>
concept dense_member = dense_trait<Member>::dense;

/// Dense, with all extents known at compile time.
template <class Member>
concept inline_member = dense_trait<Member>::inlined;

/// A struct whose members are collated each by itself.
template <class Member>
concept struct_member =
    !dense_member<Member> && std::is_class_v<Member> && std::is_aggregate_v<Member>;

template <class Member>
struct is_std_array : std::false_type {};
template <class T, std::size_t N>
struct is_std_array<std::array<T, N>> : std::true_type {};

/// Bytes of one sample in the column of an inline member.
template <inline_member Member>
inline constexpr std::size_t row_bytes =
    sizeof(typename dense_trait<Member>::element_type) * dense_trait<Member>::extents::size;

/// Columns of a type all of whose members, nested ones too, are inline; 0: they are not.
template <class Member>
constexpr std::size_t inline_columns() {
    if constexpr (inline_member<Member>) {
        return 1;
    } else if constexpr (struct_member<Member> && !is_std_array<Member>::value) {
        return []<std::size_t... I>(std::index_sequence<I...>) {
            const bool all = (true && ... && (inline_columns<field_type<Member, I>>() != 0));
            return all ? (std::size_t{0} + ... + inline_columns<field_type<Member, I>>()) : 0;
        }
        (std::make_index_sequence<field_count<Member>>{});
    } else {
        return 0;
    }
}

/// Number of the first column of member I among those of S.
template <class S, std::size_t I>
constexpr std::size_t first_inline_column() {
    return []<std::size_t... Before>(std::index_sequence<Before...>) {
        return (std::size_t{0} + ... + inline_columns<field_type<S, Before>>());
    }
    (std::make_index_sequence<I>{});
}

}  // namespace stoker::detail
