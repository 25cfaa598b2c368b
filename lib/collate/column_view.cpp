#include <string>

#include <stoker/collate/column_access.hpp>
#include <stoker/collate/column_view.hpp>
#include <stoker/core/error.hpp>

#include "collate/shape_text.hpp"

namespace stoker::detail {

void throw_view_mismatch(std::string_view name, dtype type, std::span<const std::uint64_t> shape,
                         dtype wanted_type, std::span<const std::size_t> wanted) {
    std::string text = "column '";
    text += name;
    text += "' holds ";
    text += name_of(type);
    text += " of shape " + shape_text(shape) + " and was asked for as ";
    text += name_of(wanted_type);
    text += " of shape " + shape_text(wanted);
    throw error({.code = errc::invalid_option,
                 .text = std::move(text),
                 .remedy = "ask for the column's own type and shape, with stoker::dynamic for "
                           "extents that may vary"});
}

std::size_t column_number(const schema& columns, std::string_view name) {
    std::string known;
    for (std::size_t number = 0; number < columns.columns.size(); ++number) {
        if (columns.columns[number].name == name)
            return number;
    }
    for (const column& each : columns.columns)
        known += (known.empty() ? "" : ", ") + each.name;
    throw error(
        {.code = errc::invalid_option,
         .text = "the batch has no column '" + std::string{name} + "'; its columns are: " + known,
         .remedy = "ask for one of its columns"});
}

}  // namespace stoker::detail
