#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace stoker::detail {

/// A process's share of memory: each page divided by the number of processes that map it.
struct memory_usage {
    std::uint64_t anonymous_bytes = 0;
    std::uint64_t file_bytes = 0;
    std::uint64_t shared_bytes = 0;  ///< memfds, /dev/shm, shared anonymous mappings
};

/// Of the text of /proc/<pid>/smaps_rollup; empty when a line is missing or not understood.
std::optional<memory_usage> parse_memory_usage(std::string_view smaps_rollup);

/// Processor time of a process's reaped children, in clock ticks, of the text of /proc/<pid>/stat;
/// empty when it is not understood.
std::optional<std::uint64_t> parse_reaped_ticks(std::string_view stat);

/// Empty when the process is gone or belongs to somebody else.
std::optional<memory_usage> memory_usage_of(pid_t process);

/// Processor time of all threads of a living process, to the nanosecond; empty when it is gone.
std::optional<double> cpu_seconds_of(pid_t process);

/// Processor time of the children that a process has waited for, to the tick (10 ms).
std::optional<double> reaped_cpu_seconds_of(pid_t process);

}  // namespace stoker::detail
