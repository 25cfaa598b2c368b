// A worker's layout is looked at twice: the records, which main has copied, and then the numbers
// in the batch that views follow without a look of their own.

#include "collate/layout_check.hpp"

#include <algorithm>
#include <span>

namespace stoker::detail {
namespace {

/// Extents as the column has them; axis 0 of a `whole` column is one of them, of others it is left
/// to `first_axis_fits`.
bool extents_fit(const column& described, const column_record& record) {
    const std::uint64_t before = described.kind == column_kind::whole ? 0 : 1;
    const std::uint64_t rank = described.extents.size() + before;
    if (rank > max_rank || record.rank != rank)
        return false;
    for (std::size_t axis = 0; axis < described.extents.size(); ++axis) {
        const std::uint64_t known = described.extents[axis];
        if (known != unknown_extent && known != record.extents[axis + before])
            return false;
    }
    return true;
}

bool first_axis_fits(const column& described, const column_record& record, std::uint64_t samples) {
    switch (described.kind) {
        case column_kind::rows:
        case column_kind::lengths:
            return record.extents[0] == samples;
        case column_kind::offsets:
            return record.extents[0] == samples + 1;
        case column_kind::values:  // as many as the offsets say
        case column_kind::whole:
            return true;
    }
    return false;
}

bool place_fits(const column& described, const column_record& record, std::uint64_t bytes) {
    if (record.offset % column_alignment != 0 || record.offset > bytes ||
        record.bytes > bytes - record.offset) {
        return false;
    }
    std::uint64_t needed = described.element_bytes;
    for (std::uint64_t axis = 0; axis < record.rank; ++axis) {
        if (__builtin_mul_overflow(needed, record.extents[axis], &needed))
            return false;
    }
    return needed <= record.bytes;
}

std::span<const std::int64_t> numbers(const std::byte* data, const column_record& record) {
    return {reinterpret_cast<const std::int64_t*>(data + record.offset),
            static_cast<std::size_t>(record.extents[0])};
}

bool lengths_fit(std::span<const std::int64_t> lengths, const column_record& padded) {
    const std::uint64_t longest = padded.extents[1];
    return std::all_of(lengths.begin(), lengths.end(), [longest](std::int64_t length) {
        return length >= 0 && static_cast<std::uint64_t>(length) <= longest;
    });
}

bool offsets_fit(std::span<const std::int64_t> offsets, std::span<const column_record> values) {
    if (offsets.front() != 0 || !std::is_sorted(offsets.begin(), offsets.end()))
        return false;
    const auto end = static_cast<std::uint64_t>(offsets.back());
    return std::all_of(values.begin(), values.end(),
                       [end](const column_record& each) { return each.extents[0] == end; });
}

}  // namespace

bool fits(const schema& described, std::uint64_t samples, const std::byte* data,
          std::uint64_t bytes, const column_record* records) {
    const std::span<const column_record> all(records, described.columns.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        const column& each = described.columns[i];
        if (!extents_fit(each, all[i]) || !first_axis_fits(each, all[i], samples) ||
            !place_fits(each, all[i], bytes)) {
            return false;
        }
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
        const column& each = described.columns[i];
        if (each.kind == column_kind::lengths && !lengths_fit(numbers(data, all[i]), all[i - 1]))
            return false;
        if (each.kind == column_kind::offsets &&
            !offsets_fit(numbers(data, all[i]), all.subspan(i - each.covers, each.covers))) {
            return false;
        }
    }
    return true;
}

}  // namespace stoker::detail
