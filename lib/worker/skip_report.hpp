#pragma once
// How a batch says which of its samples were left out, and why. In the slot: the numbers of those
// that are there, behind the indices; the errors of the others, behind the columns.

#include <cstdint>
#include <span>
#include <vector>

#include <stoker/core/error.hpp>
#include "ipc/messages.hpp"
#include "ipc/slab.hpp"

namespace stoker::detail {

/// Room for indices and as many numbers, in words.
constexpr std::uint64_t words_for_gaps(std::uint64_t index_capacity) {
    return index_capacity * 2;
}

/// The place for numbers in a slot; only where the geometry has room for gaps.
std::span<std::uint64_t> numbers_of(const slab& slots, std::uint32_t slot);

/// Writes both, and completes the result. Errors for which there is no room are left out.
void write_skips(const slab& slots, std::span<const std::uint64_t> numbers,
                 std::span<const error_details> errors, result_message& result) noexcept;

struct skip_report {
    std::vector<std::uint64_t> numbers{};  ///< of the samples that are there, in order
    std::vector<error_details> errors{};   ///< of the others, as far as there was room
};

/// Copies first, then checks: false when the numbers are not some of `known`, in order, or the
/// counts do not fit.
bool read_skips(const slab& slots, const result_message& result,
                std::span<const std::uint64_t> known, skip_report& report);

}  // namespace stoker::detail
