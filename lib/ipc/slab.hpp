#pragma once
// A loader's slots: one sealed memfd, sparse, with more address space a slot than it is known to
// need. Layout of a slot, from its start:
//
//   column records | indices (main writes) | pad to 256 | data: columns, or an error report
//
// Main and every worker map it at addresses of their own; only slot numbers and offsets are shared.

#include <cstddef>
#include <cstdint>

#include "core/descriptor.hpp"
#include <stoker/collate/column.hpp>
#include <stoker/core/index.hpp>

namespace stoker::detail {

/// Where things lie in a slot; computed once by main and sent to the workers.
struct slot_geometry {
    std::uint64_t slot_count = 0;
    std::uint64_t slot_bytes = 0;      ///< virtual extent of a slot, a multiple of the page size
    std::uint64_t column_count = 0;
    std::uint64_t index_capacity = 0;  ///< most indices in a batch
    std::uint64_t data_offset = 0;     ///< from the start of the slot, 256-byte aligned
    std::uint64_t known_bytes = 0;     ///< data bytes a full batch is known to need; 0: unknown
    std::uint64_t data_limit = 0;      ///< most data bytes a batch may need

    std::uint64_t indices_offset() const { return column_count * sizeof(column_record); }
};

/// Computes a geometry; throws error{memory_limit} naming the ulimit (RLIMIT_AS, RLIMIT_FSIZE) or
/// the option that it does not fit. Shrinks virtual extents to fit limits where needs allow it.
slot_geometry plan_slots(std::uint64_t slot_count, const schema& columns,
                         std::uint64_t index_capacity, std::uint64_t memory_limit_bytes);

/// A mapping of the slab in this process.
///
/// Thread safety: const members from any thread; slots are written by whoever holds them.
class slab {
  public:
    slab() = default;
    /// Creates the memfd: sized, sealed (SHRINK, GROW, SEAL), mapped MADV_DONTDUMP and DONTFORK.
    static slab create(const slot_geometry& geometry);
    /// Maps a slab made elsewhere (a worker's side); MADV_DONTFORK.
    static slab open(descriptor memory, const slot_geometry& geometry);
    slab(slab&&) noexcept;
    slab& operator=(slab&&) noexcept;
    ~slab();

    const slot_geometry& geometry() const { return geometry_; }
    int memory_descriptor() const;
    std::byte* slot(std::uint32_t number) const;
    column_record* records(std::uint32_t number) const;
    index* indices(std::uint32_t number) const;
    std::byte* data(std::uint32_t number) const;
    /// MADV_POPULATE_WRITE of the first `bytes` of the slot (from its start): after it no access
    /// to them can fault for want of memory. Throws error{memory_limit or resource}. EFAULT/ENOMEM
    /// become a sentence with bytes needed; kernels without it fall back to touching nothing.
    void populate(std::uint32_t number, std::uint64_t bytes) const;
    /// Gives pages beyond the first `bytes` of a slot back to the system (hole punch).
    void release_beyond(std::uint32_t number, std::uint64_t bytes) const;

  private:
    slot_geometry geometry_{};
    descriptor memory_{};
    std::byte* base_ = nullptr;
};

}  // namespace stoker::detail
