#pragma once
// A stream of the simulated device: a thread with a queue. Its only ties to other threads are those
// that CUDA promises, so that ThreadSanitizer sees a missing edge of the code under test: whoever
// submits happens before the work (release, acquire), work happens before whoever waits for its
// stamp, and nothing ever leads from the work back to those who submit.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <random>
#include <thread>

namespace stoker::detail {

/// A counter that threads sleep on by the kernel's futex, which, unlike std::atomic::wait, has no
/// bookkeeping in shared memory and so ties nobody together.
class simulated_counter {
  public:
    std::uint32_t value() const noexcept { return value_.load(std::memory_order_acquire); }
    /// Without taking part in any order: for checks that must not hide a race.
    std::uint32_t glance() const noexcept { return value_.load(std::memory_order_relaxed); }
    void add_one() noexcept;
    /// Returns when the value is not `seen` any more.
    void wait_beyond(std::uint32_t seen) const noexcept;

  private:
    std::atomic<std::uint32_t> value_{0};
};

/// One record of an event, or the end of one piece of work. Owned by the platform, freed at its
/// end: counting references would tie threads together.
class simulated_stamp {
  public:
    void set() noexcept { count_.add_one(); }
    bool is_set() const noexcept { return count_.value() != 0; }
    bool glance() const noexcept { return count_.glance() != 0; }
    void wait() const noexcept { count_.wait_beyond(0); }

  private:
    simulated_counter count_;
};

/// Thread safety: `push` from any thread.
class simulated_stream {
  public:
    simulated_stream(int ordinal, std::uint64_t seed, std::chrono::microseconds longest_delay);
    simulated_stream(const simulated_stream&) = delete;
    simulated_stream& operator=(const simulated_stream&) = delete;
    /// Ends when all that was pushed is done.
    ~simulated_stream();

    int ordinal() const noexcept { return ordinal_; }
    /// Runs after all that was pushed before.
    void push(std::function<void()> work);
    /// As `push`, but as late as the seed says.
    void push_late(std::function<void()> work);
    /// Whether this thread is a stream's.
    static bool is_here() noexcept;

    // Capture, for the calls that must be refused meanwhile. -1: none.
    std::atomic<int> capture_mode{-1};
    std::atomic<std::thread::id> capture_thread{};

  private:
    struct node {
        std::function<void()> work{};
        std::atomic<node*> next{nullptr};
    };
    void run();
    void sleep_at_random();

    const int ordinal_;
    std::minstd_rand random_;  // the thread's own
    const std::chrono::microseconds longest_delay_;
    std::mutex pushing_;
    node* last_;   // of those who push
    node* first_;  // the thread's own: what it did last
    simulated_counter pushed_;
    std::thread thread_;
};

}  // namespace stoker::detail
