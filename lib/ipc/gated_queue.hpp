#pragma once
// The four halves of the two queues between main and one worker. Each is a Boost.Interprocess
// message queue behind a gate (gate.hpp), with a doorbell that is rung only when the other side
// asked for it. gated_queue.cpp says why the counters may stand in for a look into the queue.
//
// Thread safety: each half belongs to one thread at a time, and to one process.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "ipc/control.hpp"
#include "ipc/doorbell.hpp"
#include "ipc/messages.hpp"
#include "ipc/queue_names.hpp"

namespace stoker::detail {

enum class attempt {
    done,       ///< the message was sent, or received
    withdrawn,  ///< main only: the worker is inside; nothing happened; main's bell will be rung
    nothing,    ///< queue empty (receive) or full (send)
    lost,       ///< the queue is unusable: its other side died inside it; in a worker: or main died
};

class opened_queue;  // hides Boost.Interprocess

/// What the halves have in common: an opened queue, its gate, and the bell of the other side.
class gated_half {
  public:
    gated_half() noexcept;
    gated_half(gated_half&&) noexcept;
    gated_half& operator=(gated_half&&) noexcept;
    ~gated_half();

    /// False when default-constructed or moved from.
    explicit operator bool() const noexcept { return queue_ != nullptr; }

  protected:
    gated_half(const std::string& name, gate_words& gate, worker_words& words,
               const doorbell& bell_of_other);

    std::unique_ptr<opened_queue> queue_;
    gate_words* gate_ = nullptr;
    worker_words* words_ = nullptr;
    int bell_of_other_ = -1;
    int main_pidfd_ = -1;
    bool peer_is_dead_ = false;
    std::uint64_t count_ = 0;  ///< messages that passed this half
};

/// Main's half for tasks: never blocks, whatever the worker does.
class main_sender : public gated_half {
  public:
    main_sender() = default;
    /// Opens the queue; the words are those of the worker it belongs to, freshly reset; the bell is
    /// borrowed by number. Throws error{resource}.
    main_sender(const std::string& name, worker_words& words, const doorbell& worker_bell);
    /// Sends and rings when the worker wants it. `withdrawn`: the worker will ring main's bell when
    /// it leaves, so the caller may sleep on that and try again.
    /// A napping worker is not rung: it finds the task when it wakes.
    attempt try_send(const task_message& message);
    /// Wakes the worker if it naps, or sleeps: for tasks whose batches are waited for.
    void ring_napping() noexcept;
    /// From now on the worker's flag is ignored: only once its pidfd says that it is gone.
    void peer_is_dead() noexcept { peer_is_dead_ = true; }
};

/// Main's half for results: never blocks, whatever the worker does.
class main_receiver : public gated_half {
  public:
    main_receiver() = default;
    main_receiver(const std::string& name, worker_words& words, const doorbell& worker_bell);
    /// Costs one load when nothing was announced. `withdrawn`: main's bell will be rung.
    attempt try_receive(result_message& message) {
        if (!likely_ready())
            return attempt::nothing;
        return receive_inside(message);
    }
    /// Whether a look into the queue is worth it; without side effects, never a wait.
    bool likely_ready() const noexcept {
        return peer_is_dead_ || words_->results_sent.load(std::memory_order_acquire) != count_;
    }
    /// Says "ring me". After it the caller must try once more, then may sleep on its bell.
    void want_bell() noexcept;
    /// From now on the worker's flag and its counter are ignored: only once its pidfd says that it
    /// is gone. What it published can still be received, then `nothing`, or `lost` when it died
    /// inside.
    void peer_is_dead() noexcept { peer_is_dead_ = true; }

  private:
    attempt receive_inside(result_message& message);
};

/// The worker's half for tasks: may wait for main, which is quick, never in the queue itself.
class worker_receiver : public gated_half {
  public:
    worker_receiver(const std::string& name, worker_words& words, const doorbell& main_bell);
    /// Costs one load when nothing was announced. Gives done, nothing or lost.
    attempt try_receive(task_message& message) {
        if (!likely_ready())
            return attempt::nothing;
        return receive_inside(message);
    }
    bool likely_ready() const noexcept {
        return words_->tasks_sent.load(std::memory_order_acquire) != count_;
    }
    /// Says "ring me". After it the caller must try once more, then may sleep on its bell.
    void want_bell() noexcept;
    /// The same for a short, timed sleep: main need not ring unless it is in a hurry.
    void want_bell_napping() noexcept;
    /// No more, after a nap.
    void forget_bell() noexcept;
    /// A wait for main (killed inside the gate) then ends with `lost` when this pidfd says that
    /// main is gone. Borrowed; -1: not watched.
    void watch_main(int pidfd) noexcept { main_pidfd_ = pidfd; }

  private:
    attempt receive_inside(task_message& message);
};

/// The worker's half for results.
class worker_sender : public gated_half {
  public:
    worker_sender(const std::string& name, worker_words& words, const doorbell& main_bell);
    /// Sends and rings when main wants it. Gives done, nothing (full: more results than tasks) or
    /// lost.
    attempt try_send(const result_message& message);
    /// As for `worker_receiver`.
    void watch_main(int pidfd) noexcept { main_pidfd_ = pidfd; }
};

}  // namespace stoker::detail
