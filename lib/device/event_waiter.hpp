#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <stoker/loader/lease.hpp>
#include "core/profile_range.hpp"
#include "device/device_calls.hpp"
#include "ipc/doorbell.hpp"

namespace stoker::detail {

/// Somebody who waits for a stream without blocking a thread of theirs.
struct stream_completion {
    doorbell bell = doorbell::create();
    /// To be read after the bell. The bell itself orders nothing for those who only poll it.
    std::atomic<int> code{cuda_code::success};
};

/// What the waiter does when an event has happened.
struct waiter_task {
    cuda_event event = nullptr;
    std::string purpose{};    ///< for errors
    profile_range copying{};  ///< for profilers
    lease slot{};             ///< given back
    int bounce = -1;          ///< bounce buffer that is free again
    int abandoned = -1;  ///< output that is free again when its consumers below have come to an end
    std::vector<cuda_stream> consumers{};       ///< `event` could not be recorded on them yet
    bool whole_device = false;                  ///< there are others, so the device is waited for
    bool recorded = false;                      ///< it is, on the last of them
    std::shared_ptr<stream_completion> told{};  ///< whose bell is rung
};

/// The one thread of a feed: sleeps in the driver until events have happened, in the order in which
/// they were given. A thread, since that is the one way that tells how it ended.
///
/// Thread safety: `add` from any thread.
class event_waiter {
  public:
    /// `done(task, code)` is called on the waiter's thread, and must not throw.
    event_waiter(const device_calls& calls, std::function<void(waiter_task&, int)> done);
    event_waiter(const event_waiter&) = delete;
    event_waiter& operator=(const event_waiter&) = delete;
    /// Ends when all that was added is done.
    ~event_waiter();

    void add(waiter_task task);

  private:
    using tasks = std::deque<waiter_task>;

    void run();
    void finish(std::unique_lock<std::mutex>& lock, tasks& from, int code);
    bool finish_some_slow_ones(std::unique_lock<std::mutex>& lock);
    int look_at(waiter_task& task) const;
    int look_at_consumers(waiter_task& task) const;

    const device_calls& calls_;
    std::function<void(waiter_task&, int)> done_;
    std::mutex lock_;
    std::condition_variable added_;
    tasks copies_;     // waited for in order
    tasks slow_ones_;  // of users' streams, which may take long: looked at in between
    bool ending_ = false;
    std::thread thread_;
};

}  // namespace stoker::detail
