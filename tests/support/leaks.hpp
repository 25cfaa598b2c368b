#pragma once
// What a test may have left behind: shared memory, descriptors, processes, memory.

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace stoker::test_support {

/// A process as /proc shows it.
struct process_entry {
    pid_t pid = 0;
    pid_t parent = 0;
    char state = '?';    ///< R, S, D, T, Z, … as in proc(5)
    std::string name{};  ///< at most 15 characters
};

/// Names of ours in /dev/shm ("stoker-…"), sorted. With `owner`, only those which that process
/// made: test programs run side by side, so that a test looks at its own.
std::vector<std::string> shared_memory_entries(pid_t owner = 0);

/// Number of descriptors that this process has open (the look itself not counted).
std::size_t open_descriptor_count();

/// Children of this process, dead ones that nobody has reaped included.
std::vector<process_entry> children();

/// Every other process that runs this very program file: children, grandchildren and those that
/// were orphaned on purpose (a fork server and its workers). Not processes that have called exec,
/// nor zombies.
std::vector<process_entry> relatives();

/// Those of `relatives()` that have started since this process has; a test of its own in a child
/// process sees only its own.
std::vector<process_entry> descendants();

/// Resident memory of this process in bytes.
std::size_t resident_bytes();

/// Waits until `condition()` holds, looking every few milliseconds; false once `limit` has passed.
template <class Condition>
bool holds_within(std::chrono::milliseconds limit, Condition condition);

/// Sleeps for the pause between two looks of `holds_within`.
void pause_between_looks();

template <class Condition>
bool holds_within(std::chrono::milliseconds limit, Condition condition) {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!condition()) {
        if (std::chrono::steady_clock::now() >= end)
            return false;
        pause_between_looks();
    }
    return true;
}

/// One line for each: "pid name (state, parent)", for messages of failing tests.
std::string to_text(const std::vector<process_entry>& processes);

}  // namespace stoker::test_support
