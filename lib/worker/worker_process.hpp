#pragma once

#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <span>
#include <string>

#include <stoker/collate/fetcher.hpp>
#include "core/descriptor.hpp"
#include "ipc/queue_names.hpp"
#include "ipc/slab.hpp"

namespace stoker::detail {

/// What a worker starts with. Descriptors are the worker's own copies.
struct worker_start {
    fetcher* source = nullptr;
    int worker = 0;
    int num_workers = 0;
    int worker_threads = 0;  ///< most of each pool of threads; 0: as they come
    std::uint64_t seed = 0;
    bool skip_bad = false;                        ///< leave out samples that fail
    int in_flight = 1;                            ///< samples of a coroutine dataset at once
    std::chrono::milliseconds sample_timeout{0};  ///< 0: none
    slot_geometry geometry{};
    queue_names names{};
    descriptor slab_memory{};
    descriptor control_memory{};
    descriptor result_bell{};
    descriptor task_bell{};
    descriptor main_pidfd{};
    pid_t server = 0;              ///< the process that forked it
    std::string process_name{};    ///< "stoker:train:w3"
    sigset_t signals{};            ///< mask that the dataset's code runs with
    std::span<char> last_words{};  ///< memory shared with the server: why it could not start
};

/// Status of a worker that could not start; the reason is in its last words.
inline constexpr int worker_start_status = 113;

/// The whole life of a worker, right after the fork: puts inherited things in order, opens the
/// queues and unlinks their names, then makes batches until it is told to stop or main is gone.
[[noreturn]] void run_worker(worker_start& start) noexcept;

}  // namespace stoker::detail
