#include <stoker/collate/ragged_view.hpp>

namespace stoker::detail {

void describe_offsets(const std::string& name, std::size_t first, std::vector<column>& columns) {
    const std::uint64_t covered = columns.size() - first;
    for (std::size_t each = first; each < columns.size(); ++each)
        columns[each].kind = column_kind::values;
    collation<std::int64_t>::describe(name.empty() ? "offsets" : name + ".offsets", columns);
    columns.back().kind = column_kind::offsets;
    columns.back().covers = covered;
}

}  // namespace stoker::detail
