#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include <stoker/collate/column.hpp>
#include <stoker/core/index.hpp>

namespace stoker::detail {

/// What to fetch. All randomness of a sample follows from (seed, epoch, position).
struct fetch_task {
    std::span<const index> indices;  ///< already checked against the dataset's size
    std::uint64_t seed = 0;
    std::uint64_t epoch = 0;
    std::uint64_t first_position = 0;  ///< of indices[0] in the epoch; the others follow
    int worker = 0;                    ///< 0 when the calling process loads
    int num_workers = 0;
};

/// The memory of one batch, as a fetcher sees it.
class batch_memory {
  public:
    virtual ~batch_memory() = default;
    /// At least `bytes` bytes, zeroed or not, aligned to `column_alignment`, the same address for
    /// the same batch. Throws error{batch_too_large or memory_limit}.
    virtual std::byte* data(std::uint64_t bytes) = 0;
};

/// What a fetcher tells and asks while it works.
class fetch_monitor {
  public:
    virtual ~fetch_monitor() = default;
    /// Before each sample: the one that is to be made.
    virtual void begin_sample(index sample) noexcept = 0;
    /// The epoch was given up: stop between samples (return from fetch; the result is dropped).
    virtual bool abandoned() const noexcept = 0;
};

/// The narrow boundary between typed datasets and the machinery: makes a whole batch in memory.
/// One object for a loader; workers use their own copy-on-write copy of it.
class fetcher {
  public:
    virtual ~fetcher() = default;
    virtual std::uint64_t size() const = 0;
    virtual const schema& columns() const = 0;
    /// Once in each worker, before its first batch (num_workers = 0: before the first batch).
    virtual void open(int worker, int num_workers, std::uint64_t seed) = 0;
    /// Makes the batch: writes all columns and one record a column; gives the bytes used.
    /// Throws what the dataset throws, or error{shape_mismatch, …}.
    virtual std::uint64_t fetch(const fetch_task& task, batch_memory& memory,
                                column_record* records, fetch_monitor& monitor) = 0;
};

}  // namespace stoker::detail
