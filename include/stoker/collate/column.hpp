#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <stoker/tensor/dtype.hpp>

namespace stoker::detail {

/// Most axes of a column, the batch axis included.
inline constexpr std::size_t max_rank = 8;
/// Columns begin at multiples of this many bytes: CUDA's alignment for coalesced access.
inline constexpr std::uint64_t column_alignment = 256;
/// In `column::extents`: known only when the samples are there.
inline constexpr std::uint64_t unknown_extent = ~std::uint64_t{0};

constexpr std::uint64_t align_up(std::uint64_t value, std::uint64_t alignment) {
    return (value + alignment - 1) / alignment * alignment;
}

/// What axis 0 of a column is, and what its numbers promise to those who follow them.
enum class column_kind : std::uint8_t {
    rows,     ///< one row a sample
    lengths,  ///< i64, one a sample: how far its row of the column before is filled
    values,   ///< the values of all samples, one sample after the other
    offsets,  ///< i64, one a sample and one more: where its values begin, and where they end
    whole,    ///< a custom collate's: `extents` has all axes
};

/// One leaf column of a sample type, described once for a loader.
struct column {
    std::string name;                    ///< "pixels"; a nested struct's leaves are "inner.pixels"
    dtype type{};                        ///< element type
    std::uint64_t element_bytes = 0;     ///< size of one element
    std::vector<std::uint64_t> extents;  ///< without axis 0, but of `whole`; `unknown_extent`
    column_kind kind = column_kind::rows;
    std::uint64_t covers = 0;  ///< of `offsets`: columns of values just before it that it divides

    bool fixed() const;                  ///< the layout follows from the number of samples
    std::uint64_t sample_bytes() const;  ///< bytes of one sample, when fixed
};

/// Where a column of one batch lies. Trivially copyable: workers write it into the slot.
struct column_record {
    std::uint64_t offset = 0;  ///< from the start of the batch's data
    std::uint64_t bytes = 0;
    std::uint64_t rank = 0;                         ///< axes in use, axis 0 included
    std::array<std::uint64_t, max_rank> extents{};  ///< extents[0] is as `column_kind` says
};

/// Sets the bytes of a record that has its extents. Throws error{batch_too_large}, which names the
/// column and its shape, when that is no number of 64 bits.
void set_bytes(column_record& record, const column& described);
/// Gives columns whose bytes are known their places, one after the other. Gives the bytes in all.
std::uint64_t place_columns(const std::vector<column>& columns, column_record* records);

/// The columns of a sample type, in order.
struct schema {
    std::vector<column> columns;

    bool fixed() const;  ///< the layout of a batch follows from its number of samples
    /// Fills one record a column for a batch of `samples` and gives the bytes in all; fixed only.
    std::uint64_t lay_out(std::uint64_t samples, column_record* records) const;
    /// Bytes of a batch of `samples`; fixed only.
    std::uint64_t batch_bytes(std::uint64_t samples) const;
};

}  // namespace stoker::detail
