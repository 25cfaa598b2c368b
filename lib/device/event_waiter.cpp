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
        (task.told || task.abandoned >= 0 ? slow_ones_ : copies_).push_back(std::move(task));
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
            const int code = calls_.table().synchronize_event(task.event);
            lock.lock();
            finish(lock, copies_, code);
            pause = shortest_pause;
        } else if (!slow_ones_.empty()) {
            if (finish_some_slow_ones(lock)) {
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

bool event_waiter::finish_some_slow_ones(std::unique_lock<std::mutex>& lock) {
    bool any = false;
    for (std::size_t left = slow_ones_.size(); left > 0; --left) {
        const int code = look_at(slow_ones_.front());
        if (code == cuda_code::not_ready) {  // behind the others, which may be of other streams
            slow_ones_.push_back(std::move(slow_ones_.front()));
            slow_ones_.pop_front();
            continue;
        }
        finish(lock, slow_ones_, code);
        any = true;
    }
    return any;
}

int event_waiter::look_at(waiter_task& task) const {
    return task.abandoned >= 0 ? look_at_consumers(task) : calls_.table().query_event(task.event);
}

/// One consumer after the other. A stream that is being captured is left alone until its user has
/// ended that: a record or a wait would break the graph.
int event_waiter::look_at_consumers(waiter_task& task) const {
    const cuda_table& table = calls_.table();
    if (task.whole_device) {
        const int code = table.device_synchronize();
        if (is_about_capture(code)) {
            static_cast<void>(table.take_last_error());
            return cuda_code::not_ready;
        }
        if (code != cuda_code::success)
            return code;
        task.whole_device = false;
    }
    while (!task.consumers.empty()) {
        if (task.recorded) {
            const int code = table.query_event(task.event);
            if (code != cuda_code::success)
                return code;
            task.recorded = false;
            task.consumers.pop_back();
            continue;
        }
        const cuda_stream stream = task.consumers.back();
        int status = cuda_flag::capture_none;
        int code = table.capture_status(stream, &status);
        if (code == cuda_code::success && status != cuda_flag::capture_none)
            return cuda_code::not_ready;
        if (code == cuda_code::success)
            code = table.record_event(task.event, stream);
        task.recorded = code == cuda_code::success;
        if (!task.recorded) {  // the stream is gone: whatever it was told is waited for
            static_cast<void>(table.take_last_error());
            code = table.device_synchronize();
            if (code != cuda_code::success)
                return code;
            task.consumers.pop_back();
        }
    }
    return cuda_code::success;
}

}  // namespace stoker::detail
