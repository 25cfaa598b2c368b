#pragma once

#include <cstdint>

namespace stoker::detail {

/// Main → worker: make one batch. Its indices lie in the slot (`slot_geometry`).
struct task_message {
    std::uint64_t sequence = 0;    ///< of the task, never repeated by a loader
    std::uint64_t generation = 0;  ///< stale when it differs from `control_words::generation`
    std::uint64_t epoch = 0;
    std::uint64_t first_position = 0;  ///< of the batch's first sample in its epoch
    std::uint32_t slot = 0;
    std::uint32_t index_count = 0;
    std::uint32_t kind = 0;  ///< task_kind
    std::uint32_t gaps = 0;  ///< 1: samples were left out; their numbers lie behind the indices
};

enum class task_kind : std::uint32_t { batch = 0, stop = 1 };

enum class result_status : std::uint32_t {
    ready = 0,    ///< records and columns are in the slot
    failed = 1,   ///< an error report (`error_report`) lies in the slot's data
    dropped = 2,  ///< the task was stale: nothing was written
};

/// Worker → main: what became of a task.
struct result_message {
    std::uint64_t sequence = 0;
    std::uint64_t data_bytes = 0;  ///< of the batch, or of the error report
    std::uint32_t slot = 0;
    std::uint32_t status = 0;        ///< result_status
    std::uint32_t samples = 0;       ///< of a batch
    std::uint32_t skipped = 0;       ///< samples left out: `skip_report`
    std::uint32_t report_bytes = 0;  ///< of their errors, behind the columns
    std::uint32_t place = 0;  ///< failed: 1 + which of its indices it failed on; 0: not known
};

}  // namespace stoker::detail
