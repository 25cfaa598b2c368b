#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <boost/asio/awaitable.hpp>

#include <stoker/collate/column.hpp>
#include <stoker/collate/stream_task.hpp>
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
    std::span<std::uint64_t> words{};  ///< of a stream, in place of indices: `stream_request`
    /// Where samples were left out: of each index, its number in the whole batch.
    std::span<const std::uint64_t> numbers{};

    std::uint64_t position(std::size_t i) const {
        return first_position + (numbers.empty() ? i : numbers[i]);
    }
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
    /// Before all of them are made by one call, which cannot tell which of them it is on.
    virtual void begin_batch(index first) noexcept { begin_sample(first); }
    /// All of them are made: they become a batch, which may be the user's own code.
    virtual void begin_collate() noexcept {}
    /// It is made, or has failed; only where several are under way at once.
    virtual void end_sample(index) noexcept {}
    /// The epoch was given up: stop between samples (return from fetch; the result is dropped).
    virtual bool abandoned() const noexcept = 0;
};

/// How much a worker has under way at once; lib/collate/fetch_limits.hpp.
struct fetch_limits;

/// The narrow boundary between typed datasets and the machinery: makes a whole batch in memory.
/// One object for a loader; workers use their own copy-on-write copy of it.
class fetcher {
  public:
    virtual ~fetcher() = default;
    virtual std::uint64_t size() const = 0;
    /// Set for a stream, which has no indices: tasks say in words what to read.
    virtual std::optional<stream_shape> stream() const { return std::nullopt; }
    virtual const schema& columns() const = 0;
    /// Once in each worker, before its first batch (num_workers = 0: before the first batch).
    virtual void open(int worker, int num_workers, std::uint64_t seed) = 0;
    /// Makes the batch: writes all columns and one record a column; gives the bytes used.
    /// Throws what the dataset throws, or error{shape_mismatch, …}.
    virtual std::uint64_t fetch(const fetch_task& task, batch_memory& memory,
                                column_record* records, fetch_monitor& monitor) = 0;

    /// Some of it is coroutines: `async_open` and `async_fetch` are to be called in place of `open`
    /// and `fetch`, and several fetches may be under way at once.
    virtual bool waits() const { return false; }
    /// As `open`.
    virtual boost::asio::awaitable<void> async_open(int worker, int num_workers,
                                                    std::uint64_t seed);
    /// As `fetch`; all arguments live until it ends. Cancelled (any type) it ends with
    /// operation_aborted, once all of its samples have ended.
    virtual boost::asio::awaitable<std::uint64_t> async_fetch(const fetch_task& task,
                                                              batch_memory& memory,
                                                              column_record* records,
                                                              fetch_monitor& monitor,
                                                              const fetch_limits& limits);
};

}  // namespace stoker::detail
