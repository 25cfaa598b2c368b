#pragma once
// The gate before a message queue (see lib/ipc/gate.cpp's or this file's essay by its owner).

#include <atomic>
#include <cstdint>

namespace stoker::detail {

/// Four words a queue, each on its own cache line.
struct gate_words {
    alignas(64) std::atomic<std::uint32_t> main_inside{0};
    alignas(64) std::atomic<std::uint32_t> worker_inside{0};
    alignas(64) std::atomic<std::uint32_t> wanted_by_main{0};    ///< "ring me when you leave"
    alignas(64) std::atomic<std::uint32_t> wanted_by_worker{0};
};

}  // namespace stoker::detail
