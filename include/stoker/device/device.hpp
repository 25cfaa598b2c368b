#pragma once

#include <sys/types.h>

#include <string>

namespace stoker {

namespace detail {
struct cuda_table;
}  // namespace detail

/// Where batches go: a GPU, or the host itself. A small value; what it stands for is not owned.
///
///     stoker::device_feed feed{std::move(loader), gpu ? stoker::cuda_device(0)
///                                                     : stoker::host_device()};
///
/// Thread safety: like an int.
class device {
  public:
    device(const detail::cuda_table& table, int ordinal);

    /// "CUDA device 0", "host".
    std::string name() const;
    int ordinal() const noexcept { return ordinal_; }
    /// Device memory is the host's own, and everything has happened when a call returns.
    bool is_host() const noexcept;

    const detail::cuda_table& table() const noexcept { return *table_; }
    /// Throws error{no_device} in another process than the one that made it: CUDA does not survive
    /// a fork.
    void require_own_process() const;

  private:
    const detail::cuda_table* table_;
    int ordinal_;
    pid_t process_;
};

/// The GPU with that number, as CUDA_VISIBLE_DEVICES leaves them. Begins to use CUDA, which starts
/// threads: make loaders before. Throws error{no_device}: no driver, too old a driver (both
/// versions are named), no such number, stoker was built without CUDA, or this is a worker, where
/// CUDA cannot be used.
device cuda_device(int ordinal);
/// How many GPUs `cuda_device` would give; 0 where there is no CUDA. Never throws.
int cuda_device_count() noexcept;
/// No GPU: batches stay in the host's memory, so that the same program runs anywhere.
device host_device();

}  // namespace stoker
