// How a batch is used and given back. Its consumers are streams: each is made to wait for the batch
// once, is remembered, and leaves an event behind at the release, for which the next writer of the
// buffer waits. So a release costs no wait of anybody's thread.

#include <algorithm>
#include <thread>
#include <utility>

#include <stoker/core/error.hpp>
#include "device/feed_core.hpp"

namespace stoker::detail {

namespace {

/// Throws error{stream_captured} when the stream is being captured.
int refuse_capture(const cuda_table& table, cuda_stream stream, const std::string& what) {
    int status = cuda_flag::capture_none;
    const int code = table.capture_status(stream, &status);
    if (is_about_capture(code)) {
        static_cast<void>(table.take_last_error());
        status = 1;
    }
    if (status != cuda_flag::capture_none) {
        throw error(errc::stream_captured,
                    what +
                        " was called for a stream that is being captured: the graph would hold "
                        "a wait or a record of this one batch, or none");
    }
    return code;
}

}  // namespace

feed_core::consumer feed_core::consumer_here(cuda_stream stream) {
    return {stream, stream == per_thread_stream() ? std::this_thread::get_id() : std::thread::id()};
}

void feed_core::use_on(std::size_t number, cuda_stream stream) {
    output& out = outputs_[number];
    const consumer user = consumer_here(stream);
    if (calls_.synchronous() || std::ranges::find(out.users, user) != out.users.end())
        return;
    const device_scope scope(calls_);
    const std::string purpose = "on(stream) of batch " + std::to_string(out.record.number);
    // A stream that is none is its user's fault: the feed goes on.
    calls_.check(refuse_capture(calls_.table(), stream, "on()"), "cudaStreamIsCapturing", purpose);
    if (out.consumed.size() == out.users.size())
        out.consumed.push_back(calls_.make_event(false));
    if (edges_.reader_after_ready)
        calls_.check(calls_.table().wait_event(stream, out.ready, 0), "cudaStreamWaitEvent",
                     purpose);
    out.users.push_back(user);
}

void feed_core::use_unordered(std::size_t number) noexcept {
    outputs_[number].unordered = !calls_.synchronous();
}

void feed_core::release(std::size_t number) {
    output& out = outputs_[number];
    if (!out.users.empty()) {
        const device_scope scope(calls_);
        for (const consumer& each : out.users) {
            if (each == consumer_here(each.stream))
                static_cast<void>(refuse_capture(calls_.table(), each.stream, "release()"));
        }
    }
    abandon(number);
}

/// Never fails: what cannot be recorded is waited for by the waiter.
void feed_core::abandon(std::size_t number) noexcept {
    if (::getpid() != process_)
        return;
    output& out = outputs_[number];
    waiter_task task;
    task.whole_device = std::exchange(out.unordered, false);
    if (!out.users.empty()) {
        const device_scope scope(calls_);
        const cuda_table& table = calls_.table();
        for (const auto& [stream, thread] : out.users) {
            if (consumer_here(stream).thread != thread) {  // a record would be on another stream
                task.whole_device = true;
                continue;
            }
            if (!edges_.consumers_recorded || (!edges_.every_consumer && out.recorded > 0))
                break;
            int status = cuda_flag::capture_none;
            int code = table.capture_status(stream, &status);
            if (code == cuda_code::success && status == cuda_flag::capture_none)
                code = table.record_event(out.consumed[out.recorded], stream);
            if (code == cuda_code::success && status == cuda_flag::capture_none) {
                ++out.recorded;
            } else {
                static_cast<void>(table.take_last_error());
                if (stream == per_thread_stream())  // the waiter's own is another
                    task.whole_device = true;
                else
                    task.consumers.push_back(stream);
            }
        }
        out.users.clear();
    }
    if (task.consumers.empty() && !task.whole_device) {
        free_output(number);
        return;
    }
    try {
        task.event = take_event();
        task.abandoned = static_cast<int>(number);
        waiter_->add(std::move(task));
    } catch (...) {
        // An output that is never free again is better than one that is written too early.
    }
}

void feed_core::free_output(std::size_t number) {
    {
        const std::scoped_lock lock(lock_);
        free_.push_back(number);
    }
    ring_if_wanted();
}

void feed_core::wait_for_consumers(output& out, cuda_stream stream) {
    for (std::size_t i = 0; i < out.recorded && edges_.write_after_consumers; ++i)
        check(calls_.table().wait_event(stream, out.consumed[i], 0), "cudaStreamWaitEvent");
    out.recorded = 0;
}

/// On the waiter's thread.
void feed_core::done(waiter_task& task, int code) {
    if (code != cuda_code::success && !task.told) {
        try {
            fail(code, "cudaEventSynchronize", task.purpose);
        } catch (...) {
            // Kept by `fail` for the next call of next().
        }
    }
    task.slot = {};
    if (task.bounce >= 0) {
        bounce_->give_back(task.bounce);
        ring_if_wanted();
    }
    if (task.event != nullptr) {
        const std::scoped_lock lock(lock_);
        spare_.push_back(task.event);
    }
    if (task.abandoned >= 0)
        free_output(static_cast<std::size_t>(task.abandoned));
    if (task.told) {
        task.told->code.store(code, std::memory_order_release);
        task.told->bell.ring();
    }
}

void feed_core::complete(const std::shared_ptr<stream_completion>& told, cuda_stream stream) {
    if (calls_.synchronous()) {
        told->bell.ring();
        return;
    }
    const device_scope scope(calls_);
    calls_.check(refuse_capture(calls_.table(), stream, "completed()"), "cudaStreamIsCapturing",
                 "completed(stream)");
    waiter_task task;
    task.event = take_event();
    task.told = told;
    const int code = calls_.table().record_event(task.event, stream);
    if (code != cuda_code::success) {
        {
            const std::scoped_lock lock(lock_);
            spare_.push_back(task.event);
        }
        calls_.fail(code, "cudaEventRecord", "completed(stream)");
    }
    waiter_->add(std::move(task));
}

std::exception_ptr feed_core::failure_of(int code, const std::string& purpose) const noexcept {
    try {
        calls_.fail(code, "cudaEventQuery", purpose);
    } catch (...) {
        return std::current_exception();
    }
}

void device_lease::use_on(CUstream_st* stream) {
    core_->use_on(output_, stream);
}

void device_lease::use_unordered() noexcept {
    core_->use_unordered(output_);
}

const device& device_lease::target() const noexcept {
    return core_->target();
}

void device_lease::release() {
    if (record_ == nullptr)
        return;
    core_->release(output_);
    record_ = nullptr;
    core_.reset();
}

void device_lease::give_back() noexcept {
    if (record_ == nullptr)
        return;
    record_ = nullptr;
    core_->abandon(output_);
    core_.reset();
}

}  // namespace stoker::detail
