#include "device/event_waiter.hpp"

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "core/system.hpp"
#include "device/device_rig.hpp"

using namespace device_rig;
using stoker::detail::event_waiter;
using stoker::detail::stream_completion;
using stoker::detail::waiter_task;

namespace {

constexpr std::chrono::seconds patience{20};

template <class Condition>
bool soon(Condition&& condition) {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!condition() && std::chrono::steady_clock::now() < end)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return condition();
}

/// A stream with a gate, behind which events wait.
struct gated_stream {
    explicit gated_stream(simulated_platform& in) : platform(in) {
        REQUIRE(platform.table().create_stream(&handle, 0, 0) == 0);
        platform.enqueue(handle, [this] {
            while (!open.load())
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
        });
    }
    ~gated_stream() {
        open = true;
        platform.table().destroy_stream(handle);
    }
    gated_stream(const gated_stream&) = delete;
    gated_stream& operator=(const gated_stream&) = delete;

    simulated_platform& platform;
    cuda_stream handle = nullptr;
    std::atomic<bool> open{false};
};

cuda_event record(const device_calls& calls, cuda_stream stream) {
    const cuda_event made = calls.make_event(true);
    REQUIRE(calls.table().record_event(made, stream) == 0);
    return made;
}

}  // namespace

TEST_CASE("tasks are done when their events have happened, in their order") {
    simulated_platform platform(quick());
    const device_calls calls(simulated_device());
    gated_stream stream(platform);
    std::atomic<int> done{0};
    std::vector<int> order;
    {
        event_waiter waiter(calls, [&](waiter_task& task, int code) {
            order.push_back(code == 0 ? task.bounce : -1);
            calls.table().destroy_event(task.event);
            ++done;
        });
        for (int number = 0; number < 3; ++number) {
            waiter_task task;
            task.event = record(calls, stream.handle);
            task.bounce = number;
            waiter.add(std::move(task));
        }
        CHECK(done == 0);
        stream.open = true;
    }
    CHECK(order == std::vector<int>{0, 1, 2});
}

TEST_CASE("a user's stream that takes long holds up no copy's task") {
    simulated_platform platform(quick());
    const device_calls calls(simulated_device());
    gated_stream slow(platform);
    gated_stream fast(platform);
    fast.open = true;
    std::atomic<int> copies{0};
    std::atomic<int> told{0};
    {
        event_waiter waiter(calls, [&](waiter_task& task, int) {
            calls.table().destroy_event(task.event);
            ++(task.told ? told : copies);
        });
        waiter_task completion;
        completion.event = record(calls, slow.handle);
        completion.told = std::make_shared<stream_completion>();
        waiter.add(std::move(completion));
        for (int number = 0; number < 5; ++number) {
            waiter_task task;
            task.event = record(calls, fast.handle);
            waiter.add(std::move(task));
        }
        CHECK(soon([&] { return copies == 5; }));
        CHECK(told == 0);
        slow.open = true;
    }
    CHECK(told == 1);
}

TEST_CASE("how a wait failed is told") {
    simulated_platform platform(quick());
    const device_calls calls(simulated_device());
    gated_stream stream(platform);
    stream.open = true;
    platform.fail("cudaEventSynchronize", cuda_code::illegal_address);
    std::atomic<int> told{0};
    {
        event_waiter waiter(calls, [&](waiter_task& task, int code) {
            calls.table().destroy_event(task.event);
            told = code;
        });
        waiter_task task;
        task.event = record(calls, stream.handle);
        waiter.add(std::move(task));
    }
    CHECK(told == cuda_code::illegal_address);
}

TEST_CASE("consumers that are captured are left alone until their graph is done") {
    simulated_platform platform(quick());
    const device_calls calls(simulated_device());
    gated_stream stream(platform);
    stream.open = true;
    gated_stream other(platform);
    other.open = true;
    platform.begin_capture(stream.handle, cuda_flag::capture_mode_global);
    std::atomic<int> freed{0};
    std::atomic<int> copies{0};
    {
        event_waiter waiter(calls, [&](waiter_task& task, int) {
            calls.table().destroy_event(task.event);
            if (task.abandoned >= 0)
                freed += task.abandoned;
            else
                ++copies;
        });
        waiter_task task;
        task.event = calls.make_event(true);
        task.abandoned = 4;
        task.consumers = {stream.handle, other.handle};
        waiter.add(std::move(task));
        waiter_task copied;
        copied.event = record(calls, other.handle);
        waiter.add(std::move(copied));
        CHECK(soon([&] { return copies == 1; }));  // which waits for no graph
        CHECK(freed == 0);
        CHECK(platform.end_capture(stream.handle));
    }
    CHECK(freed == 4);
}
