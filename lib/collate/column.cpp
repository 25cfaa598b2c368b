#include <algorithm>

#include <stoker/collate/column.hpp>

namespace stoker::detail {

bool column::fixed() const {
    return std::find(extents.begin(), extents.end(), unknown_extent) == extents.end();
}

std::uint64_t column::sample_bytes() const {
    std::uint64_t bytes = element_bytes;
    for (const std::uint64_t extent : extents)
        bytes *= extent;
    return bytes;
}

bool schema::fixed() const {
    return std::all_of(columns.begin(), columns.end(), [](const column& c) { return c.fixed(); });
}

std::uint64_t schema::lay_out(std::uint64_t samples, column_record* records) const {
    std::uint64_t end = 0;
    for (const column& each : columns) {
        column_record& record = *records++;
        record.offset = align_up(end, column_alignment);
        record.bytes = samples * each.sample_bytes();
        record.rank = each.extents.size() + 1;
        record.extents = {};
        record.extents[0] = samples;
        std::copy(each.extents.begin(), each.extents.end(), record.extents.begin() + 1);
        end = record.offset + record.bytes;
    }
    return end;
}

std::uint64_t schema::batch_bytes(std::uint64_t samples) const {
    std::uint64_t end = 0;
    for (const column& each : columns) {
        end = align_up(end, column_alignment) + samples * each.sample_bytes();
    }
    return end;
}

}  // namespace stoker::detail
