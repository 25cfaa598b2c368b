#pragma once
// The two queues between main and one worker, for tests in one process or across a fork.

#include "ipc/control.hpp"
#include "ipc/doorbell.hpp"
#include "ipc/gated_queue.hpp"
#include "ipc/queue_names.hpp"

namespace stoker::test_support {

/// Messages that either queue holds.
inline constexpr std::size_t capacity = 16;

/// Both queues with their words and bells; nothing stands at their ends yet.
struct queue_pair {
    queue_pair() {
        detail::create_queue(names.tasks, capacity, sizeof(detail::task_message));
        detail::create_queue(names.results, capacity, sizeof(detail::result_message));
    }
    ~queue_pair() { unlink(); }
    queue_pair(const queue_pair&) = delete;
    queue_pair& operator=(const queue_pair&) = delete;

    void unlink() const {
        detail::unlink_queue(names.tasks);
        detail::unlink_queue(names.results);
    }
    detail::worker_words& words() const { return control.worker(0); }

    detail::control_block control = detail::control_block::create(1);
    detail::queue_names names = detail::make_queue_names();
    detail::doorbell main_bell = detail::doorbell::create();
    detail::doorbell worker_bell = detail::doorbell::create();
};

/// All four halves in one process.
struct both_sides : queue_pair {
    detail::main_sender sends_tasks{names.tasks, words(), worker_bell};
    detail::main_receiver takes_results{names.results, words(), worker_bell};
    detail::worker_receiver takes_tasks{names.tasks, words(), main_bell};
    detail::worker_sender sends_results{names.results, words(), main_bell};
};

}  // namespace stoker::test_support
