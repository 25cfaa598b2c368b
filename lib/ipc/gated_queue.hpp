#pragma once
// The four halves of the two queues between main and one worker. Each is a Boost.Interprocess
// message queue behind a gate, with a doorbell that is rung only when the other side asked for it.
// CONTRACT (names and meaning bind; the owner of lib/ipc may change private members):

#include <cstdint>
#include <memory>
#include <string>

#include "ipc/doorbell.hpp"
#include "ipc/gate.hpp"
#include "ipc/messages.hpp"

namespace stoker::detail {

enum class attempt {
    done,       ///< the message was sent, or received
    withdrawn,  ///< main only: the worker is inside; nothing happened; `wanted` brings a bell
    nothing,    ///< queue empty (receive) or full (send)
    lost,       ///< the queue is unusable: its other side died inside it
};

/// Names of one worker's pair, "stoker-<main pid>-<main start time>-<n>.tasks" / ".results".
struct queue_names {
    std::string tasks, results;
};
queue_names make_queue_names();                 // unique in this process
void create_queue(const std::string& name, std::size_t capacity, std::size_t message_bytes);  // 0600
void unlink_queue(const std::string& name) noexcept;
/// Removes names of loaders whose process (pid and start time) is gone. Never throws.
void sweep_leftover_names() noexcept;

// Main's halves: never block, whatever the worker does.
class main_sender {      // of task_message
  public:
    main_sender() = default;
    main_sender(const std::string& name, gate_words& gate, const doorbell& worker_bell);  // opens
    attempt try_send(const task_message& message);   // rings when the worker wants it
    void peer_is_dead();                             // from now on the worker's flag is ignored
};
class main_receiver {    // of result_message
  public:
    main_receiver() = default;
    main_receiver(const std::string& name, gate_words& gate, const doorbell& worker_bell);
    attempt try_receive(result_message& message);
    /// Says "ring me": set `wanted_by_main`, fence. After it the caller must try once more, then
    /// may sleep on the result bell.
    void want_bell();
    void peer_is_dead();
};
// The worker's halves: may wait for main (main is quick), never blocks in the queue itself.
class worker_receiver {  // of task_message
  public:
    worker_receiver(const std::string& name, gate_words& gate, const doorbell& main_bell);
    attempt try_receive(task_message& message);      // done, nothing, lost
    void want_bell();                                // then try once more, then sleep on the bell
};
class worker_sender {    // of result_message
  public:
    worker_sender(const std::string& name, gate_words& gate, const doorbell& main_bell);
    attempt try_send(const result_message& message); // done, nothing (full: cannot happen), lost
};

}  // namespace stoker::detail
