#include <algorithm>

#include <stoker/collate/column.hpp>
#include <stoker/core/error.hpp>

#include "collate/shape_text.hpp"

namespace stoker::detail {
namespace {

/// Beyond this no memory is: offsets and bytes can be added without a look at overflow.
constexpr std::uint64_t most_bytes = std::uint64_t{1} << 56;

[[noreturn]] void throw_too_large(const column& described, const column_record& record) {
    const std::span<const std::uint64_t> extents(record.extents);
    throw error(errc::batch_too_large, "column '" + described.name + "' would have shape " +
                                           shape_text(extents.first(record.rank)));
}

}  // namespace

bool column::fixed() const {
    const bool row_a_sample = kind == column_kind::rows || kind == column_kind::lengths;
    return row_a_sample &&
           std::find(extents.begin(), extents.end(), unknown_extent) == extents.end();
}

std::uint64_t column::sample_bytes() const {
    std::uint64_t bytes = element_bytes;
    for (const std::uint64_t extent : extents)
        bytes *= extent;
    return bytes;
}

void set_bytes(column_record& record, const column& described) {
    std::uint64_t bytes = described.element_bytes;
    for (std::uint64_t axis = 0; axis < record.rank; ++axis) {
        if (__builtin_mul_overflow(bytes, record.extents[axis], &bytes) || bytes > most_bytes)
            throw_too_large(described, record);
    }
    record.bytes = bytes;
}

std::uint64_t place_columns(const std::vector<column>& columns, column_record* records) {
    std::uint64_t end = 0;
    for (std::size_t i = 0; i < columns.size(); ++i) {
        records[i].offset = align_up(end, column_alignment);
        end = records[i].offset + records[i].bytes;
    }
    return end;
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
