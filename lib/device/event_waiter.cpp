// Copies are waited for asleep. The streams of users are not: a step may take a hundred times as
// long as a copy, whose slot the workers need back, and a wait cannot be cut short. Those events
// are looked at, less and less often, while there is no copy to wait for.

#include "device/event_waiter.hpp"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "worker/process.hpp"

namespace stoker::detail {

namespace {

constexpr std::chrono::microseconds shortest_pause{20};
constexpr std::chrono::microseconds longest_pause{500};
constexpr std::chrono::milliseconds capture_pause{1};

}  // namespace

event_waiter::event_waiter(const device_calls& calls, std::function<void(waiter_task&, int)> done)
    : calls_(calls), done_(std::move(done)) {
    const blocked_signals blocked;  // the host's signals are the host's threads'
    thread_ = std::thread([this] { run(); });
}

event_waiter::~event_waiter() {
    {
        const std::scoped_lock lock(lock_);
        ending_ = true;
    }
    added_.notify_one();
    thread_.join();
}

void event_waiter::add(waiter_task task) {
    {
        const std::scoped_lock lock(lock_);
        (task.told ? completions_ : copies_).push_back(std::move(task));
    }
    added_.notify_one();
}

void event_waiter::run() {
    ::pthread_setname_np(::pthread_self(), "stoker-feed");
    // For good: this thread's device, and its calls break no capture of another thread's.
    const device_scope scope(calls_);
    std::chrono::microseconds pause = shortest_pause;
    std::unique_lock lock(lock_);
    for (;;) {
        if (!copies_.empty()) {
            const waiter_task& task = copies_.front();  // a deque's elements stay where they are
            lock.unlock();
            const int code = task.event == nullptr ? wait_for_consumers(task.consumers)
                                                   : calls_.table().synchronize_event(task.event);
            lock.lock();
            finish(lock, copies_, code);
            pause = shortest_pause;
        } else if (!completions_.empty()) {
            if (finish_some_completions(lock)) {
                pause = shortest_pause;
                continue;
            }
            added_.wait_for(lock, pause);
            pause = std::min(pause * 2, longest_pause);
        } else if (ending_) {
            return;
        } else {
            added_.wait(lock);
        }
    }
}

void event_waiter::finish(std::unique_lock<std::mutex>& lock, tasks& from, int code) {
    waiter_task task = std::move(from.front());
    from.pop_front();
    lock.unlock();
    done_(task, code);
    lock.lock();
}

bool event_waiter::finish_some_completions(std::unique_lock<std::mutex>& lock) {
    bool any = false;
    for (std::size_t left = completions_.size(); left > 0; --left) {
        const int code = calls_.table().query_event(completions_.front().event);
        if (code == cuda_code::not_ready) {  // behind the others, which may be of other streams
            completions_.push_back(std::move(completions_.front()));
            completions_.pop_front();
            continue;
        }
        finish(lock, completions_, code);
        any = true;
    }
    return any;
}

/// A stream that is being captured must not be waited for, which would break its graph: it is left
/// alone until its user has ended that.
int event_waiter::wait_for_consumers(const std::vector<cuda_stream>& consumers) const {
    int worst = cuda_code::success;
    for (const cuda_stream stream : consumers) {
        int status = cuda_flag::capture_none;
        int code = calls_.table().capture_status(stream, &status);
        while (code == cuda_code::success && status != cuda_flag::capture_none) {
            std::this_thread::sleep_for(capture_pause);
            code = calls_.table().capture_status(stream, &status);
        }
        if (code == cuda_code::success)
            code = calls_.table().synchronize_stream(stream);
        if (code != cuda_code::success) {
            static_cast<void>(calls_.table().take_last_error());
            worst = code;
        }
    }
    return worst == cuda_code::success ? worst : calls_.table().device_synchronize();
}

}  // namespace stoker::detail
