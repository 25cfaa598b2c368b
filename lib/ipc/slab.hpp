#pragma once
// A loader's slots: one sealed memfd, sparse, with more address space a slot than it is known to
// need. Layout of a slot, from its start:
//
//   column records | indices (main writes) | pad to 256 | data: columns, or an error report
//
// Main and every worker map it at addresses of their own; only slot numbers and offsets are shared.

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include <stoker/collate/column.hpp>
#include <stoker/core/index.hpp>
#include "core/descriptor.hpp"

namespace stoker::detail {

/// Where things lie in a slot; computed once by main and sent to the workers.
struct slot_geometry {
    std::uint64_t slot_count = 0;
    std::uint64_t slot_bytes = 0;  ///< virtual extent of a slot, a multiple of the page size
    std::uint64_t column_count = 0;
    std::uint64_t index_capacity = 0;  ///< most samples in a batch
    std::uint64_t index_words = 0;     ///< room for indices, or a stream's words, in a slot
    std::uint64_t data_offset = 0;     ///< from the start of the slot, 256-byte aligned
    std::uint64_t known_bytes = 0;     ///< data bytes a full batch is known to need; 0: unknown
    std::uint64_t data_limit = 0;      ///< most data bytes a batch may need

    std::uint64_t indices_offset() const { return column_count * sizeof(column_record); }
    /// Bytes from `data_offset` to the slot's end: room for the longest error report too, so never
    /// less than `least_data_bytes`, nor than `data_limit`.
    std::uint64_t data_capacity() const { return slot_bytes - data_offset; }
};

/// Least room for data in a slot.
inline constexpr std::uint64_t least_data_bytes = 128 * 1024;
/// `data_limit` of a batch whose size is not known beforehand, unless `memory_limit_bytes` is
/// given.
inline constexpr std::uint64_t default_data_limit = std::uint64_t{1} << 30;

/// Computes a geometry. Where the layout follows from the number of samples, `data_limit` is what a
/// full batch needs (at least `least_data_bytes`), and slot_count times that must fit
/// memory_limit_bytes (0: no limit). Where it does not, `data_limit` is memory_limit_bytes divided
/// by slot_count, or `default_data_limit`. Extents are virtual and cost nothing until used; they
/// shrink to fit RLIMIT_AS and RLIMIT_FSIZE where needs allow it. Throws error{memory_limit} naming
/// the option or the ulimit, with needed and limit.
/// With `full_batches` a full batch has `index_capacity` samples; without, nothing is known about
/// their number, and memory comes as it is needed. `index_words`: unless index_capacity.
slot_geometry plan_slots(std::uint64_t slot_count, const schema& columns,
                         std::uint64_t index_capacity, std::uint64_t memory_limit_bytes,
                         bool full_batches = true,
                         std::optional<std::uint64_t> index_words = std::nullopt);

/// A mapping of the slab in this process; a fork has none, but may destroy its copy of this object.
/// Moved from: empty.
///
/// Thread safety: const members from any thread; slots are written by whoever holds them.
class slab {
  public:
    slab() = default;
    /// Creates the memfd: sized, sealed (SHRINK, GROW, SEAL), mapped MADV_DONTDUMP and DONTFORK.
    /// Throws error{memory_limit or resource}.
    static slab create(const slot_geometry& geometry);
    /// Maps a slab made elsewhere (a worker's side); MADV_DONTFORK. Throws error{resource}, or
    /// error{protocol} when the memory is smaller than the geometry.
    static slab open(descriptor memory, const slot_geometry& geometry);
    slab(slab&&) noexcept;
    slab& operator=(slab&&) noexcept;
    ~slab();

    const slot_geometry& geometry() const { return geometry_; }
    int memory_descriptor() const { return memory_.get(); }
    std::byte* slot(std::uint32_t number) const { return base_ + number * geometry_.slot_bytes; }
    column_record* records(std::uint32_t number) const;
    index* indices(std::uint32_t number) const;
    std::byte* data(std::uint32_t number) const { return slot(number) + geometry_.data_offset; }

    /// Makes sure of the first `bytes` of the slot (from its start): after it no access to them can
    /// fault for want of memory. Costs nothing where this process did it before, up to the known
    /// prefix. Beyond that the cgroup's limit is checked first. Throws error{memory_limit or
    /// resource}, error{batch_too_large} beyond the slot. Kernels before 5.14 populate on access.
    void populate(std::uint32_t number, std::uint64_t bytes) const;
    /// Gives pages beyond the first `bytes` of a slot back to the system (hole punch); best effort.
    /// Other processes that hold the slot later populate anew only what lies beyond the known
    /// prefix, so `bytes` should not be less than `known_prefix()` while workers live.
    void release_beyond(std::uint32_t number, std::uint64_t bytes) const noexcept;
    /// Bytes from a slot's start that every batch is known to need, whole pages.
    std::uint64_t known_prefix() const noexcept;

  private:
    void map(std::string_view purpose);
    void unmap() noexcept;

    slot_geometry geometry_{};
    descriptor memory_{};
    std::byte* base_ = nullptr;
    pid_t owner_ = 0;  ///< the process that has the mapping; forks of it do not
    /// How much of each slot's known prefix this process has populated.
    std::unique_ptr<std::atomic<std::uint64_t>[]> populated_ {};
};

}  // namespace stoker::detail
