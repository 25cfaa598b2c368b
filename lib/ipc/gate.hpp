#pragma once
// The gate: at most one of main and its worker is inside a queue, and main never waits for that.
//
// Problem. A Boost.Interprocess queue is a mutex around an array. A worker that is stopped, frozen
// or merely descheduled inside it would hold main up; one that is killed inside leaves a mutex that
// only throws. Main must neither block nor lose the loader.
//
// Idea. Dekker's two flags, made unfair. Each side raises its flag, fences, looks at the other's.
// Main that sees the worker's flag lowers its own and goes away (`withdrawn`); a worker that sees
// main's flag waits, because main is quick. Whoever fences second sees the other, so both can never
// be inside. A worker that never leaves is killed at its deadline, and from then on its flag means
// nothing.
//
// Sleeping. Main that withdrew, or a side that found nothing, must be woken: it sets its `wanted`
// word, fences, and looks again before it sleeps; the other side, after lowering its flag *and
// fencing*, rings when `wanted` is set, whether it moved a message or not. Again whoever fences
// second sees the other: either the sleeper's last look succeeds or its bell is rung. (Without that
// last look, or without a ring after an empty call, both sides can sleep for ever; the model in
// tests/ipc/gate_model.cpp finds it.)
//
// Cost. Two fences a call and no system call while both sides are awake. Flags fall by RAII.

#include <atomic>
#include <cstdint>

#include "ipc/doorbell.hpp"

namespace stoker::detail {

/// Four words a queue, each on its own cache line.
struct gate_words {
    alignas(64) std::atomic<std::uint32_t> main_inside{0};
    alignas(64) std::atomic<std::uint32_t> worker_inside{0};
    alignas(64) std::atomic<std::uint32_t> wanted_by_main{0};  ///< "ring me when you leave"
    alignas(64) std::atomic<std::uint32_t> wanted_by_worker{0};
};

static_assert(std::atomic<std::uint32_t>::is_always_lock_free, "words are shared by processes");

/// Orders stores before it against loads after it. A policy, so that tests can show what happens
/// without.
struct store_load_fence {
    static void fence() noexcept {
#if defined(__SANITIZE_THREAD__)
        // ThreadSanitizer refuses fences; on the processors that it runs on, any atomic exchange
        // is one. The words carry acquire and release, which is what it checks.
        std::atomic<int> word{0};
        word.exchange(1, std::memory_order_seq_cst);
#else
        std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
    }
};

/// Main's way in: inside or withdrawn at once.
template <class Fence = store_load_fence>
class main_pass {
  public:
    main_pass(gate_words& gate, bool worker_is_dead) noexcept : gate_(gate) {
        gate_.main_inside.store(1, std::memory_order_relaxed);
        Fence::fence();
        inside_ = worker_is_dead || gate_.worker_inside.load(std::memory_order_acquire) == 0;
        if (!inside_)
            gate_.main_inside.store(0, std::memory_order_release);
    }
    ~main_pass() {
        if (inside_)
            gate_.main_inside.store(0, std::memory_order_release);
    }
    main_pass(const main_pass&) = delete;
    main_pass& operator=(const main_pass&) = delete;

    bool inside() const noexcept { return inside_; }

  private:
    gate_words& gate_;
    bool inside_ = false;
};

/// The worker's way in: waits until main is out. `wait_for_main(round)` passes the time between
/// two looks, or gives false when main is dead: then the worker stays outside.
template <class Fence = store_load_fence>
class worker_pass {
  public:
    template <class WaitForMain>
    worker_pass(gate_words& gate, WaitForMain&& wait_for_main) : gate_(gate) {
        gate_.worker_inside.store(1, std::memory_order_relaxed);
        Fence::fence();
        for (unsigned round = 0; gate_.main_inside.load(std::memory_order_acquire) != 0; ++round) {
            if (!wait_for_main(round)) {
                inside_ = false;
                break;
            }
        }
    }
    ~worker_pass() { gate_.worker_inside.store(0, std::memory_order_release); }
    worker_pass(const worker_pass&) = delete;
    worker_pass& operator=(const worker_pass&) = delete;

    bool inside() const noexcept { return inside_; }

  private:
    gate_words& gate_;
    bool inside_ = true;
};

/// How much a side wants to be rung. Who naps looks again by itself within a millisecond or so:
/// ringing it is a matter of latency, never of progress.
enum class wish : std::uint32_t { none = 0, ring = 1, napping = 2 };

/// Says "ring me". The caller looks once more before it sleeps.
template <class Fence = store_load_fence>
void want(std::atomic<std::uint32_t>& wanted, wish how = wish::ring) noexcept {
    wanted.store(static_cast<std::uint32_t>(how), std::memory_order_relaxed);
    Fence::fence();
}

/// After leaving: rings when the other side wants it. Cleared before it is rung, so that a wish
/// overwritten by the clearing is followed by this ring. With `let_nap` one that naps is left to
/// wake by itself.
template <class Fence = store_load_fence>
void ring_if_wanted(std::atomic<std::uint32_t>& wanted, int bell, bool let_nap = false) noexcept {
    Fence::fence();
    const auto how = static_cast<wish>(wanted.load(std::memory_order_relaxed));
    if (how == wish::none || (let_nap && how == wish::napping))
        return;
    wanted.store(0, std::memory_order_relaxed);
    doorbell::ring(bell);
}

}  // namespace stoker::detail
