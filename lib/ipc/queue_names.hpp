#pragma once

#include <cstddef>
#include <string>

namespace stoker::detail {

/// Names of one worker's pair of queues in /dev/shm:
/// "stoker-<main pid>-<main start time>-<pid namespace>.<n>.tasks" and ".results".
struct queue_names {
    std::string tasks{};
    std::string results{};
};

/// A pair that no other call in any process gives. Throws std::bad_alloc only.
///
/// Thread safety: from any thread.
queue_names make_queue_names();

/// Creates a queue for `capacity` messages of `message_bytes`, readable by this user only (0600).
/// An existing name is refused, never reused. Throws error{resource} with what /dev/shm lacks, or
/// error{memory_limit} naming the ulimit.
void create_queue(const std::string& name, std::size_t capacity, std::size_t message_bytes);

/// Removes the name; processes that have the queue open keep it. A missing name is no error.
void unlink_queue(const std::string& name) noexcept;

/// Removes names whose main process (pid and start time) is gone: a kill of everything at once in
/// the middle of a creation leaves one. Other users' objects, other pid namespaces' and those of
/// living processes are skipped.
void sweep_leftover_names() noexcept;

}  // namespace stoker::detail
