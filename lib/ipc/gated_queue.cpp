// A queue call behind a gate, four times.
//
// The counters. A side that polls an empty queue would enter the gate for nothing, and a main that
// polls would make its worker wait. So each sender counts what it has put into the queue in a word
// of its own, and a receiver whose own count equals that word says `nothing` after one load. No
// wake-up can be lost by it, because the word obeys the gate's own rule. The sender writes the
// word after the message is in the queue and before the fence that precedes its look at `wanted`;
// the receiver sets `wanted`, fences, and reads the word. Whichever fence comes second, its side
// sees the other's store: either the last look before sleeping finds the count changed, enters and
// gets the message, or the sender sees `wanted` and rings. A message that is in the queue but not
// yet counted is therefore always followed by a ring to a sleeper, unless the sender dies in
// between: then the receiver's `peer_is_dead` puts the word aside and asks the queue itself.
//
// A worker that scribbles over its counter delays or hastens its own results and nothing else;
// main neither computes an address nor a length from it.

#include "ipc/gated_queue.hpp"

#include <poll.h>
#include <sched.h>
#include <time.h>

#include <boost/interprocess/exceptions.hpp>
#include <boost/interprocess/ipc/message_queue.hpp>
#include <utility>

#include <stoker/core/error.hpp>

namespace stoker::detail {

namespace interprocess = boost::interprocess;

class opened_queue {
  public:
    explicit opened_queue(const std::string& name)
        : queue_(interprocess::open_only, name.c_str()) {}

    // The only two calls of the library that are allowed: timed and blocking ones hang when a
    // peer dies in their condition variable.
    bool try_send(const void* message, std::size_t bytes) {
        return queue_.try_send(message, bytes, 0);
    }
    bool try_receive(void* message, std::size_t bytes) {
        interprocess::message_queue::size_type received = 0;
        unsigned priority = 0;
        return queue_.try_receive(message, bytes, received, priority);
    }

  private:
    interprocess::message_queue queue_;
};

namespace {

std::unique_ptr<opened_queue> open_queue(const std::string& name) {
    try {
        return std::make_unique<opened_queue>(name);
    } catch (const interprocess::interprocess_exception& failure) {
        throw error{errc::resource, "the message queue /dev/shm/" + name +
                                        " could not be opened: " + failure.what()};
    }
}

/// Tells the processor that this is a spinning wait.
void pause_briefly() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#else
    std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
}

/// A short wait for a worker that is about to leave. Main goes on whether it left or not.
void linger(const gate_words& gate) noexcept {
    constexpr int pauses = 24;  // about a queue call's time
    for (int i = 0; i < pauses; ++i) {
        if (gate.worker_inside.load(std::memory_order_relaxed) == 0)
            return;
        pause_briefly();
    }
}

/// One call as main. Flags fall before anything else happens, exceptions included.
template <class Call>
attempt call_as_main(gate_words& gate, bool worker_is_dead, const Call& call) {
    try {
        for (int look = 0; look < 3; ++look) {
            {
                const main_pass<> pass(gate, worker_is_dead);
                if (pass.inside())
                    return call() ? attempt::done : attempt::nothing;
            }
            if (look == 0)
                linger(gate);
            if (look == 1)
                want(gate.wanted_by_main);
        }
        return attempt::withdrawn;
    } catch (const interprocess::interprocess_exception&) {
        return attempt::lost;  // its mutex is not recoverable: the worker died inside
    }
}

/// One call as the worker.
template <class Call>
attempt call_as_worker(gate_words& gate, int main_pidfd, const Call& call) {
    const auto wait_for_main = [main_pidfd](unsigned round) {
        constexpr unsigned pauses = 64;
        constexpr unsigned yields = 64;
        if (round < pauses) {
            pause_briefly();
            return true;
        }
        if (round < pauses + yields) {
            ::sched_yield();
            return true;
        }
        // Main is stopped or dead.
        if (main_pidfd >= 0) {
            pollfd entry{.fd = main_pidfd, .events = POLLIN, .revents = 0};
            if (::poll(&entry, 1, 0) == 1)
                return false;
        }
        const timespec a_while{.tv_sec = 0, .tv_nsec = 1'000'000};
        ::nanosleep(&a_while, nullptr);
        return true;
    };
    try {
        const worker_pass<> pass(gate, wait_for_main);
        if (!pass.inside())
            return attempt::lost;
        return call() ? attempt::done : attempt::nothing;
    } catch (const interprocess::interprocess_exception&) {
        return attempt::lost;
    }
}

}  // namespace

gated_half::gated_half() noexcept = default;
gated_half::gated_half(gated_half&&) noexcept = default;
gated_half& gated_half::operator=(gated_half&&) noexcept = default;
gated_half::~gated_half() = default;

gated_half::gated_half(const std::string& name, gate_words& gate, worker_words& words,
                       const doorbell& bell_of_other)
    : queue_(open_queue(name)),
      gate_(&gate),
      words_(&words),
      bell_of_other_(bell_of_other.number()) {}

main_sender::main_sender(const std::string& name, worker_words& words, const doorbell& worker_bell)
    : gated_half(name, words.tasks, words, worker_bell) {}

attempt main_sender::try_send(const task_message& message) {
    const attempt result = call_as_main(*gate_, peer_is_dead_,
                                        [&] { return queue_->try_send(&message, sizeof message); });
    if (result == attempt::done)
        words_->tasks_sent.store(++count_, std::memory_order_release);
    if (result != attempt::withdrawn)
        ring_if_wanted(gate_->wanted_by_worker, bell_of_other_, true);
    return result;
}

void main_sender::ring_napping() noexcept {
    if (gate_ != nullptr && gate_->wanted_by_worker.load(std::memory_order_relaxed) != 0)
        ring_if_wanted(gate_->wanted_by_worker, bell_of_other_);
}

main_receiver::main_receiver(const std::string& name, worker_words& words,
                             const doorbell& worker_bell)
    : gated_half(name, words.results, words, worker_bell) {}

attempt main_receiver::receive_inside(result_message& message) {
    const attempt result = call_as_main(
        *gate_, peer_is_dead_, [&] { return queue_->try_receive(&message, sizeof message); });
    if (result == attempt::done)
        ++count_;
    if (result != attempt::withdrawn)
        ring_if_wanted(gate_->wanted_by_worker, bell_of_other_);
    return result;
}

void main_receiver::want_bell() noexcept {
    want(gate_->wanted_by_main);
}

worker_receiver::worker_receiver(const std::string& name, worker_words& words,
                                 const doorbell& main_bell)
    : gated_half(name, words.tasks, words, main_bell) {}

attempt worker_receiver::receive_inside(task_message& message) {
    const attempt result = call_as_worker(
        *gate_, main_pidfd_, [&] { return queue_->try_receive(&message, sizeof message); });
    if (result == attempt::done)
        ++count_;
    ring_if_wanted(gate_->wanted_by_main, bell_of_other_);
    return result;
}

void worker_receiver::want_bell() noexcept {
    want(gate_->wanted_by_worker);
}

void worker_receiver::want_bell_napping() noexcept {
    want(gate_->wanted_by_worker, wish::napping);
}

void worker_receiver::forget_bell() noexcept {
    gate_->wanted_by_worker.store(0, std::memory_order_relaxed);
}

worker_sender::worker_sender(const std::string& name, worker_words& words,
                             const doorbell& main_bell)
    : gated_half(name, words.results, words, main_bell) {}

attempt worker_sender::try_send(const result_message& message) {
    const attempt result = call_as_worker(
        *gate_, main_pidfd_, [&] { return queue_->try_send(&message, sizeof message); });
    if (result == attempt::done)
        words_->results_sent.store(++count_, std::memory_order_release);
    ring_if_wanted(gate_->wanted_by_main, bell_of_other_);
    return result;
}

}  // namespace stoker::detail
