#pragma once

#include <concepts>
#include <cstddef>
#include <string_view>
#include <tuple>

#include <stoker/collate/column_view.hpp>
#include <stoker/collate/member_types.hpp>

namespace stoker::detail {

/// Number of the column with that name. Throws error{invalid_option} with the names there are.
std::size_t column_number(const schema& columns, std::string_view name);

/// That column, of any type. The schema must outlive what is returned.
template <class Byte>
basic_column_view<Byte> column_named(const schema& described, Byte* data,
                                     const column_record* records, std::string_view name) {
    const std::size_t number = column_number(described, name);
    const column& found = described.columns[number];
    return basic_column_view<Byte>(found.name, found.type, data, records[number]);
}

/// Typed access to a batch's memory. `Byte` is std::byte, or const std::byte for views that cannot
/// write. `records` must live as long as what is returned.
template <class Sample>
struct column_access {
    using collation_type = collation<Sample>;

    /// A tuple of one view for each member.
    template <class Byte>
    static auto columns(Byte* data, const column_record* records) {
        if constexpr (struct_member<Sample>) {
            return struct_view<Sample, Byte>(data, records).columns();
        } else {
            return std::tuple{collation_type::view(data, records)};
        }
    }
    /// `Owner` is Sample; deduced, since a sample that is no class has no members to point to.
    template <class Byte, class Member, std::same_as<Sample> Owner>
    static auto member(Byte* data, const column_record* records, Member Owner::*pointer) {
        return struct_view<Sample, Byte>(data, records)[pointer];
    }
    template <class Byte>
    static auto named(Byte* data, const column_record* records, std::string_view name) {
        static const schema described = schema_of<Sample>();
        return column_named(described, data, records, name);
    }
};

}  // namespace stoker::detail
