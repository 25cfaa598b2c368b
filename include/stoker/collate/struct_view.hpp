#pragma once

#include <cassert>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include <stoker/collate/collation.hpp>

namespace stoker {

/// The columns of a struct's members in a batch: what `batch[&outer::nested]` gives. `Byte` is
/// `const std::byte` where the batch is const.
///
///     auto nested = batch[&outer::nested];
///     auto x = nested[&inner::x];              // as batch[&outer::x] would be
///     auto [y, z] = nested.columns();
///
/// Copied by value; valid as long as the batch.
///
/// Thread safety: that of the batch, whose memory it looks at.
template <class Struct, class Byte>
class struct_view {
    using collation_type = detail::collation<Struct>;

  public:
    struct_view(Byte* data, const detail::column_record* records) noexcept
        : data_(data), records_(records) {}

    /// Views of all members, in order, for structured bindings.
    auto columns() const {
        return [this]<std::size_t... I>(std::index_sequence<I...>) {
            return std::tuple{collation_type::template member_collation<I>::view(
                data_, records_ + collation_type::first_columns[I])...};
        }
        (typename collation_type::numbers{});
    }
    /// View of one member.
    template <class Member>
    auto operator[](Member Struct::*member) const {
        static_assert(std::is_object_v<Member>, "stoker: not a data member of the sample");
        const std::size_t number = detail::field_number(member);
        assert(number < collation_type::field_total);
        return detail::collation<Member>::view(data_,
                                               records_ + collation_type::first_columns[number]);
    }

  private:
    Byte* data_;
    const detail::column_record* records_;
};

}  // namespace stoker
