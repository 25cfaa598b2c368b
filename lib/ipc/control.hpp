#pragma once
// The words that main and its workers share, in a memfd of their own (away from slots and queues).
// Each cache line has one writer, but for `wanted` words. All are hints or protocol words of the
// gate: main never follows an offset or a count that a worker wrote here.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/descriptor.hpp"
#include "ipc/gate.hpp"

namespace stoker::detail {

/// What a worker is doing, for error texts.
enum class worker_phase : std::uint32_t { starting, idle, fetching, collating, reporting };

/// One worker's words. The counters count messages since `reset_worker`, written after the message
/// is in its queue and before the gate's last fence: see gated_queue.cpp.
struct worker_words {
    gate_words tasks;
    gate_words results;
    alignas(64) std::atomic<std::uint64_t> tasks_sent{0};    ///< main writes
    alignas(64) std::atomic<std::uint64_t> results_sent{0};  ///< worker writes
    alignas(64) std::atomic<std::uint64_t> sample{0};        ///< breadcrumb: the index it is on
    std::atomic<std::uint64_t> sequence{0};                  ///< the task it is on
    std::atomic<std::uint32_t> phase{0};                     ///< worker_phase
};

struct control_words {
    alignas(64) std::atomic<std::uint64_t> generation{0};  ///< tasks of another one are stale
    alignas(64) std::atomic<std::uint32_t> reserved{0};
    worker_words* worker(int number) noexcept;  ///< they follow in memory
};

/// A mapping of the control words for `worker_count` workers. MADV_DONTFORK. Moved from: empty.
///
/// Thread safety: const members from any thread.
class control_block {
  public:
    control_block() = default;
    /// A sealed memfd of zeros. Throws error{resource or memory_limit}.
    static control_block create(int worker_count);
    /// A worker's side. Throws error{resource}, or error{protocol} when the memory is too small.
    static control_block open(descriptor memory, int worker_count);
    control_block(control_block&&) noexcept;
    control_block& operator=(control_block&&) noexcept;
    ~control_block();

    control_words& words() const { return *words_; }
    worker_words& worker(int number) const;
    /// Back to zero, before a new worker takes the number (nobody else may be looking).
    void reset_worker(int number) const;
    int memory_descriptor() const { return memory_.get(); }

  private:
    void map(int worker_count);
    void unmap() noexcept;

    descriptor memory_{};
    control_words* words_ = nullptr;
    std::size_t bytes_ = 0;
    int worker_count_ = 0;
    pid_t owner_ = 0;  ///< the process that has the mapping; forks of it do not
};

}  // namespace stoker::detail
