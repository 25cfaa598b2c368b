#pragma once
// Two kernels of the check itself: one that takes its time, as a training step does, and one that
// compares a batch with what the host expects. Plain types, since nvcc compiles this, too.

#include <cstddef>
#include <cstdint>

#include <stoker/device/preparation.hpp>

namespace gpu_check {

constexpr std::uint64_t words_a_sample = 1024;

/// The word at a place of a sample, by whoever writes or reads it.
constexpr std::uint32_t word_of(std::uint64_t sample, std::uint64_t place) {
    const std::uint64_t mixed = (sample + 1) * 0x9E3779B97F4A7C15ULL;
    return static_cast<std::uint32_t>(mixed >> 32) +
           static_cast<std::uint32_t>(place) * 2654435761U;
}

/// Keeps a stream busy.
struct spin_job {
    std::uint64_t nanoseconds = 0;
};

/// Counts the words, and labels, of a batch that are not those of samples `first` and on.
struct compare_job {
    const std::uint32_t* words = nullptr;  ///< [rows, words_a_sample]
    const std::int64_t* labels = nullptr;  ///< [rows]
    std::uint64_t rows = 0;
    std::uint64_t first = 0;
    unsigned long long* bad = nullptr;  ///< in the device's memory
};

using launcher = int (*)(const void* arguments, CUstream_st* stream);
/// Null where there is no nvcc.
launcher spin_launch() noexcept;
launcher compare_launch() noexcept;

/// Points to `job`, which must live until the call has been launched.
stoker::detail::kernel_call call_of(const spin_job& job);
stoker::detail::kernel_call call_of(const compare_job& job);

}  // namespace gpu_check
