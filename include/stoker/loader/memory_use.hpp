#pragma once

#include <cstdint>
#include <string>

namespace stoker {

/// What a loader takes, known before it starts: `loader.memory()`. All in bytes, of physical memory
/// at its fullest; the dataset itself is not in it, since workers share its pages.
struct memory_use {
    std::uint64_t slots = 0;        ///< batches that can exist at once
    std::uint64_t batch_bytes = 0;  ///< one slot: columns, indices, padding, whole pages; for
                                    ///< layouts that depend on the samples: the largest so far
    std::uint64_t slab_bytes = 0;   ///< slots × batch_bytes
    std::uint64_t queue_bytes = 0;  ///< message queues and control words of all workers
    std::uint64_t workers = 0;
    std::uint64_t worker_bytes = 0;  ///< own memory of one worker, an estimate: stack, heap, its
                                     ///< share of the program, page tables for the dataset
    std::uint64_t fork_server_bytes = 0;  ///< the same for the process that forks them
    std::uint64_t total_bytes = 0;

    /// One line to read: "6 slots × 9.2 MiB + 4 workers × 1.5 MiB + …".
    std::string text() const;
};

}  // namespace stoker
