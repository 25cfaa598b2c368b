#include "worker/skip_report.hpp"

#include <algorithm>
#include <cstring>

#include "worker/error_report.hpp"

namespace stoker::detail {
namespace {

/// Most bytes of errors that a batch carries.
constexpr std::uint64_t most_bytes = std::uint64_t{1} << 20;
/// Of one of them.
constexpr std::uint64_t most_bytes_each = 64 * 1024;

/// Where errors lie in the slot's data, and how much room they have.
struct place {
    std::uint64_t begin = 0;
    std::uint64_t bytes = 0;
};

place place_of(const slab& slots, std::uint64_t data_bytes) {
    const std::uint64_t capacity = slots.geometry().data_capacity();
    const std::uint64_t begin = align_up(data_bytes, sizeof(std::uint64_t));
    if (begin >= capacity)
        return {};
    return {begin, std::min(most_bytes, capacity - begin)};
}

}  // namespace

std::span<std::uint64_t> numbers_of(const slab& slots, std::uint32_t slot) {
    const slot_geometry& geometry = slots.geometry();
    if (geometry.index_words < words_for_gaps(geometry.index_capacity))
        return {};
    return {slots.indices(slot) + geometry.index_capacity, geometry.index_capacity};
}

void write_skips(const slab& slots, std::span<const std::uint64_t> numbers,
                 std::span<const error_details> errors, result_message& result) noexcept {
    std::copy(numbers.begin(), numbers.end(), numbers_of(slots, result.slot).begin());
    result.samples = static_cast<std::uint32_t>(numbers.size());
    result.skipped = static_cast<std::uint32_t>(errors.size());

    // [length, report]…, then a length of 0
    const place room = place_of(slots, result.data_bytes);
    std::uint64_t needed = sizeof(std::uint64_t);
    for (const error_details& each : errors)
        needed += sizeof(std::uint64_t) + std::min(report_bytes(each), most_bytes_each);
    const std::uint64_t bytes = std::min(needed, room.bytes);
    try {
        slots.populate(result.slot, slots.geometry().data_offset + room.begin + bytes);
    } catch (...) {  // without memory the errors are counted, not told
        result.report_bytes = 0;
        return;
    }
    std::byte* const begin = slots.data(result.slot) + room.begin;
    std::uint64_t used = 0;
    for (const error_details& each : errors) {
        const std::uint64_t length = std::min(report_bytes(each), most_bytes_each);
        if (used + sizeof length + length > bytes)
            break;
        const std::uint64_t written = write_report({begin + used + sizeof length, length}, each);
        std::memcpy(begin + used, &written, sizeof written);
        used += sizeof written + written;
    }
    result.report_bytes = static_cast<std::uint32_t>(used);
}

bool read_skips(const slab& slots, const result_message& result,
                std::span<const std::uint64_t> known, skip_report& report) {
    const std::span<const std::uint64_t> written = numbers_of(slots, result.slot);
    if (result.samples > written.size() ||
        std::uint64_t{result.samples} + result.skipped != known.size())
        return false;
    report.numbers.assign(written.begin(), written.begin() + result.samples);
    auto next = known.begin();
    for (const std::uint64_t number : report.numbers) {
        next = std::find(next, known.end(), number);
        if (next == known.end())
            return false;
        ++next;
    }
    report.errors.clear();
    const place room = place_of(slots, result.data_bytes);
    if (result.report_bytes > room.bytes)
        return false;
    const std::byte* const begin = slots.data(result.slot) + room.begin;
    const std::vector<std::byte> copy(begin, begin + result.report_bytes);
    for (std::uint64_t at = 0; at + sizeof(std::uint64_t) <= copy.size();) {
        std::uint64_t length = 0;
        std::memcpy(&length, copy.data() + at, sizeof length);
        at += sizeof length;
        if (length > copy.size() - at)
            return false;
        report.errors.push_back(read_report(std::span(copy).subspan(at, length)));
        at += length;
    }
    return report.errors.size() <= result.skipped;
}

}  // namespace stoker::detail
