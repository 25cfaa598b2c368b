#pragma once

#include <string>
#include <utility>

#include <stoker/device/device.hpp>
#include "device/cuda_table.hpp"

namespace stoker::detail {

/// A device's table with errors: what fails is named with the call, the device and the batch.
///
/// Thread safety: const members from any thread.
class device_calls {
  public:
    explicit device_calls(device target) : target_(std::move(target)) {}

    const cuda_table& table() const noexcept { return target_.table(); }
    const device& target() const noexcept { return target_; }
    bool synchronous() const noexcept { return table().synchronous; }

    /// Throws error{device_failed} unless `code` is success. `call` is CUDA's name of the entry.
    void check(int code, const char* call, const std::string& purpose = {}) const {
        if (code != cuda_code::success)
            fail(code, call, purpose);
    }
    /// "cudaMemcpyAsync failed on CUDA device 0 for batch 3 of epoch 0: an illegal memory access
    /// was encountered (cudaErrorIllegalAddress, 700)". Clears the last error.
    [[noreturn]] void fail(int code, const char* call, const std::string& purpose) const;

    cuda_event make_event(bool for_threads) const;
    cuda_stream make_stream(int priority) const;

  private:
    device target_;
};

/// Makes the device this thread's current one, and keeps this thread's calls from breaking another
/// thread's capture of a graph; both are put back as they were. Best effort: what cannot be done
/// shows in the calls that follow.
class device_scope {
  public:
    explicit device_scope(const device_calls& calls) noexcept;
    ~device_scope();
    device_scope(const device_scope&) = delete;
    device_scope& operator=(const device_scope&) = delete;

  private:
    const device_calls& calls_;
    int ordinal_before_ = -1;
    int mode_before_ = cuda_flag::capture_mode_thread_local;
};

}  // namespace stoker::detail
