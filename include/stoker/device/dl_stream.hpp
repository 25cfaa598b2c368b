#pragma once

#include <cstdint>
#include <optional>

struct CUstream_st;  // what CUDA's cudaStream_t points to

namespace stoker {

/// The stream on which whoever borrows a device batch by DLPack reads it. Of no meaning where the
/// batch lies on the host device.
///
///     auto pixels = stoker::to_dlpack(std::move(batch), compute, &digit::pixels);
///     auto pixels = stoker::to_dlpack(std::move(batch), stoker::dl_stream::numbered(given),
///                                     &digit::pixels);   // in a `__dlpack__(stream=given)`
///
/// Thread safety: like an int.
class dl_stream {
  public:
    /// A cudaStream_t of the batch's device; nullptr is the legacy default stream. A borrower that
    /// reads on several orders the others behind this one, until it deletes the array.
    dl_stream(CUstream_st* stream) noexcept : handle_(stream) {}

    /// As Python's `__dlpack__(stream=…)` numbers them: none or 1 the legacy default stream, 2 the
    /// per-thread one, above 2 a handle, −1 `unordered`. Throws error{invalid_option} for others, 0
    /// among them, which could be either default stream.
    static dl_stream numbered(std::optional<std::int64_t> number);

    /// No stream is made to wait: the borrower waits by itself until the batch is ready, as by
    /// cudaDeviceSynchronize. Nobody knows then what it still reads when it deletes the array: the
    /// feed's thread waits for the whole device before the memory is written again, which holds
    /// host slots up meanwhile and spoils a capture.
    static dl_stream unordered() noexcept {
        dl_stream made(nullptr);
        made.ordered_ = false;
        return made;
    }

    bool is_ordered() const noexcept { return ordered_; }
    CUstream_st* handle() const noexcept { return handle_; }

  private:
    CUstream_st* handle_;
    bool ordered_ = true;
};

}  // namespace stoker
