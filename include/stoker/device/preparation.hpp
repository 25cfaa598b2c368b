#pragma once
// The seam between a device feed, which moves bytes and orders streams, and what turns the bytes of
// a batch into other bytes on the device: the feed knows no kernel, a kernel no stream or slot.

#include <cstddef>
#include <cstdint>

#include <stoker/collate/column.hpp>

struct CUstream_st;  // what CUDA's cudaStream_t points to

namespace stoker::detail {

/// The columns of one batch: column `c` begins at `data + records[c].offset`, 256-byte aligned.
/// `data` is the device's memory, `records` this process's.
struct column_block {
    std::byte* data = nullptr;
    const column_record* records = nullptr;
};

/// A kernel with its arguments, in each form that a device may run it in.
struct kernel_call {
    const char* name = "";  ///< for errors
    /// Launches it on a CUDA stream and gives the cudaError_t of the launch; null where the library
    /// was built without nvcc. Must not wait, allocate or touch other streams.
    int (*launch)(const void* arguments, CUstream_st* stream) = nullptr;
    /// Does the same work on this processor, on any thread: simulated device and host device.
    void (*run)(const void* arguments) = nullptr;
    /// Trivially copyable, copied before `enqueue` returns; pointers in it are the device's.
    const void* arguments = nullptr;
    std::size_t argument_bytes = 0;
};

/// Where the work of one batch goes: runs in order, after the batch's copy has ended and before
/// anybody sees the result.
class kernel_queue {
  public:
    /// Throws error{device_failed} that names the kernel.
    virtual void launch(const kernel_call& call) = 0;
    /// From device memory to device memory. Throws error{device_failed}.
    virtual void copy(std::byte* to, const std::byte* from, std::uint64_t bytes) = 0;

  protected:
    ~kernel_queue() = default;
};

/// Turns batches as the workers made them into those that the user sees on the device. Made once
/// for a feed.
///
/// Thread safety: const members from any thread.
class preparation {
  public:
    virtual ~preparation() = default;

    /// Columns of a prepared batch.
    virtual std::size_t column_count() const = 0;
    /// Fills `column_count()` records (extents, bytes, 256-byte aligned offsets) for a batch with
    /// these source records, and gives the bytes in all. Called for the largest batch once at
    /// construction, so that device memory is there before training, and for each batch. Throws
    /// error{shape_mismatch}.
    virtual std::uint64_t lay_out(const column_record* source, column_record* prepared) const = 0;
    /// Puts the work for one batch into `queue`. Every byte of the prepared columns is to be
    /// written. The source may be read up to 16 bytes beyond its last column.
    virtual void enqueue(kernel_queue& queue, const column_block& source,
                         const column_block& prepared) const = 0;
};

}  // namespace stoker::detail
