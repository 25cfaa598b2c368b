#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <stoker/core/index.hpp>
#include <stoker/device/device_columns.hpp>
#include <stoker/device/device_lease.hpp>

namespace stoker {

namespace detail {
struct device_batch_access;
}  // namespace detail

/// One batch in a device's memory; converts to false at the end of an epoch. It was given when its
/// copy was *enqueued*: whoever reads it does so on a stream that `on` has made wait.
///
///     auto on = batch.on(compute);         // compute waits for the batch, not this thread
///     model.step(on[&image::pixels].data(), compute);
///                                          // destroyed, or batch.release(): after the last launch
///
/// `Batch` is the struct that a `collate` part of the loader names, as `batch` has it.
///
/// Move-only. Release it, or let it die, after the last launch that reads it has been enqueued, on
/// any thread: its memory is written again when all streams that `on` was called with have got as
/// far as they were told by then. It may outlive its feed; a stream that `on` was called with must
/// outlive the batch's release, which records on it.
///
/// `cudaStreamPerThread`: release it on the thread that called `on`; on another one the feed's
/// thread waits for the whole device instead, for the stream of that name is another one there.
///
/// Graphs: `on` and `release` are refused (error{stream_captured}) for a stream that is being
/// captured, since a captured wait or record says nothing of this batch; call them just before and
/// after the graph's launch. A feed has few buffers, whose addresses stay: one graph for each
/// address that `on` gives, or a copy to a place of the graph's own. What a batch that dies during
/// a capture could not record, the feed's thread makes up for by waiting for the whole device.
///
/// Thread safety: distinct batches are independent, on any threads; one batch is like a container.
template <class Sample, class Batch = void>
class device_batch {
  public:
    using sample = Sample;

    device_batch() = default;
    explicit device_batch(detail::device_lease held) noexcept : lease_(std::move(held)) {}

    explicit operator bool() const noexcept { return static_cast<bool>(lease_); }

    /// Makes `stream`, a cudaStream_t of this device, wait until the batch is there, and gives its
    /// columns for work on that stream. Any number of streams. Throws error{stream_captured,
    /// device_failed}.
    device_columns<Sample, Batch> on(CUstream_st* stream) & {
        const detail::device_record& found = record();
        lease_.use_on(stream);
        return device_columns<Sample, Batch>(found.data, found.records.data());
    }
    device_columns<Sample, Batch> on(CUstream_st* stream) && = delete;

    /// Gives it back before it dies. Throws error{stream_captured}, and nothing has happened; the
    /// batch is false afterwards.
    void release() { lease_.release(); }

    /// Samples in this batch.
    std::size_t size() const noexcept { return lease_ ? record().indices.size() : 0; }
    /// The dataset's indices of its samples, in order.
    std::span<const index> indices() const& noexcept {
        return lease_ ? std::span<const index>(record().indices) : std::span<const index>();
    }
    std::span<const index> indices() && = delete;
    /// The epoch it belongs to, from 0.
    std::uint64_t epoch() const noexcept { return record().epoch; }
    /// Its number within the epoch, from 0, in the sampler's order.
    std::uint64_t number() const noexcept { return record().number; }
    /// Bytes of its columns in the device's memory, padding between them included.
    std::uint64_t bytes() const noexcept { return record().bytes; }

  private:
    friend detail::device_batch_access;

    const detail::device_record& record() const noexcept {
        assert(lease_ && "stoker: a false batch, the end of an epoch, has no columns");
        return lease_.record();
    }

    detail::device_lease lease_;
};

}  // namespace stoker
