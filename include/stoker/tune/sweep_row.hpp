#pragma once

#include <cstdint>
#include <optional>

namespace stoker {

/// What a sweep measured with one number of workers. Empty where it could not be measured.
struct sweep_row {
    int num_workers = 0;
    double seconds_per_epoch = 0;  ///< median over the timed epochs
    double fastest_seconds = 0;
    double slowest_seconds = 0;
    double samples_per_second = 0;  ///< median over the timed epochs

    /// Private memory of all workers together: Pss_Anon + Pss_File, so that pages which they share
    /// with each other or with the calling process count once. The largest of several looks.
    std::optional<std::uint64_t> worker_bytes{};
    /// Shared memory (Pss_Shmem) of the workers and the calling process, less what the latter had
    /// before: the batches.
    std::optional<std::uint64_t> shared_bytes{};
    /// Processor time an epoch, all threads: of the workers together, and of the calling process.
    std::optional<double> worker_cpu_seconds{};
    double main_cpu_seconds = 0;
};

}  // namespace stoker
