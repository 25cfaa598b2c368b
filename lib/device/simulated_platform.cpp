// What a device of the simulation does with memory, events and work. The entries take a lock among
// the threads that call them; the streams' own threads never do, and what a call learns of them
// for its checks it reads relaxed, so that no check orders what the code under test forgot to.

#include "device/simulated_platform.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

#include <stoker/collate/column.hpp>

namespace stoker::detail {

namespace {

std::atomic<simulated_platform*> the_platform{nullptr};

constexpr int poison = 0xA5;

std::byte* new_memory(std::size_t bytes) {
    return static_cast<std::byte*>(
        std::aligned_alloc(column_alignment, align_up(bytes, column_alignment)));
}

const std::byte* as_bytes(const void* memory) {
    return static_cast<const std::byte*>(memory);
}

}  // namespace

simulated_platform::simulated_platform(simulation how) : how_(how) {
    the_platform.store(this);
}

simulated_platform::~simulated_platform() {
    streams_.clear();
    implicit_streams_.clear();
    the_platform.store(nullptr);
    for (const auto& [memory, found] : blocks_) {
        if (found.kind != memory_kind::registered)
            std::free(const_cast<std::byte*>(memory));
    }
    for (event* each : events_)
        delete each;
}

simulated_platform* simulated_platform::current() {
    return the_platform.load();
}

int simulated_platform::allocate(void** memory, std::size_t bytes) {
    std::byte* const made = new_memory(std::max<std::size_t>(bytes, 1));
    std::memset(made, poison, bytes);
    const std::scoped_lock lock(lock_);
    blocks_[made] = {bytes, memory_kind::device};
    *memory = made;
    return cuda_code::success;
}

int simulated_platform::deallocate(void* memory, const char* entry) {
    if (memory == nullptr)
        return cuda_code::success;
    const std::scoped_lock lock(lock_);
    const auto found = blocks_.find(as_bytes(memory));
    if (found == blocks_.end() || found->second.kind == memory_kind::registered)
        return cuda_code::invalid_value;
    if (in_flight(memory, found->second.bytes))
        complain(std::string(entry) + " of memory that a copy still uses");
    blocks_.erase(found);
    std::free(memory);
    return cuda_code::success;
}

int simulated_platform::allocate_on(void** memory, std::size_t bytes, cuda_stream handle) {
    simulated_stream* const stream = find(handle);
    if (stream == nullptr)
        return cuda_code::invalid_resource_handle;
    std::byte* const made = new_memory(std::max<std::size_t>(bytes, 1));
    stream->push([made, bytes] { std::memset(made, poison, bytes); });
    const std::scoped_lock lock(lock_);
    blocks_[made] = {bytes, memory_kind::device};
    *memory = made;
    return cuda_code::success;
}

int simulated_platform::deallocate_on(void* memory, cuda_stream handle) {
    simulated_stream* const stream = find(handle);
    if (stream == nullptr)
        return cuda_code::invalid_resource_handle;
    const std::scoped_lock lock(lock_);
    if (blocks_.erase(as_bytes(memory)) == 0)
        return cuda_code::invalid_value;
    stream->push([memory] { std::free(memory); });
    return cuda_code::success;
}

int simulated_platform::allocate_host(void** memory, std::size_t bytes) {
    std::byte* const made = new_memory(std::max<std::size_t>(bytes, 1));
    const std::scoped_lock lock(lock_);
    blocks_[made] = {bytes, memory_kind::host};
    *memory = made;
    return cuda_code::success;
}

int simulated_platform::register_host(void* memory, std::size_t bytes) {
    if (memory == nullptr || bytes == 0)
        return cuda_code::invalid_value;
    const std::scoped_lock lock(lock_);
    const std::byte* const begin = as_bytes(memory);
    for (const auto& [other, found] : blocks_) {
        if (begin < other + found.bytes && other < begin + bytes)
            return cuda_code::host_memory_already_registered;
    }
    blocks_[begin] = {bytes, memory_kind::registered};
    return cuda_code::success;
}

int simulated_platform::unregister_host(void* memory) {
    const std::scoped_lock lock(lock_);
    const auto found = blocks_.find(as_bytes(memory));
    if (found == blocks_.end() || found->second.kind != memory_kind::registered)
        return cuda_code::host_memory_not_registered;
    if (in_flight(memory, found->second.bytes))
        complain("cudaHostUnregister of memory that a copy still uses");
    blocks_.erase(found);
    return cuda_code::success;
}

const simulated_platform::block* simulated_platform::block_around(const void* memory,
                                                                  std::size_t bytes,
                                                                  std::string& fault) const {
    const std::byte* const begin = as_bytes(memory);
    auto found = blocks_.upper_bound(begin);
    if (found != blocks_.end() && begin + bytes > found->first)
        fault = "a copy leaves plain memory for pinned memory";
    if (found == blocks_.begin())
        return nullptr;
    --found;
    const std::byte* const end = found->first + found->second.bytes;
    if (begin >= end)
        return nullptr;
    if (begin + bytes > end)
        fault = "a copy leaves its piece of pinned or device memory";
    return &found->second;
}

bool simulated_platform::in_flight(const void* memory, std::size_t bytes) {
    while (!flights_.empty() && flights_.front().done->glance())
        flights_.pop_front();
    const std::byte* const begin = as_bytes(memory);
    return std::ranges::any_of(flights_, [&](const flight& each) {
        return begin < each.end && each.begin < begin + bytes && !each.done->glance();
    });
}

int simulated_platform::copy_on(void* to, const void* from, std::size_t bytes, int kind,
                                cuda_stream handle) {
    simulated_stream* const stream = find(handle);
    if (stream == nullptr)
        return cuda_code::invalid_resource_handle;
    simulated_stamp* const done = new_stamp();
    const bool over_bus = kind != cuda_flag::copy_device_to_device;
    {
        const std::scoped_lock lock(lock_);
        std::string fault;
        const block* const source = block_around(from, bytes, fault);
        const block* const target = block_around(to, bytes, fault);
        const block* const on_device = kind == cuda_flag::copy_device_to_host ? source : target;
        if (!fault.empty() || on_device == nullptr || on_device->kind != memory_kind::device) {
            complain(fault.empty() ? "a copy names device memory that is none" : fault);
            return cuda_code::invalid_value;
        }
        if (kind == cuda_flag::copy_host_to_device) {
            ++traffic_.host_to_device_copies;
            traffic_.host_to_device_bytes += bytes;
            traffic_.pageable_copies += source == nullptr;
        }
        flights_.push_back({as_bytes(from), as_bytes(from) + bytes, done});
        flights_.push_back({as_bytes(to), as_bytes(to) + bytes, done});
    }
    const auto takes = over_bus && how_.bytes_per_second > 0
                           ? std::chrono::nanoseconds(bytes * 1'000'000'000 / how_.bytes_per_second)
                           : std::chrono::nanoseconds{};
    stream->push_late([to, from, bytes, done, takes] {
        if (takes.count() > 0)
            std::this_thread::sleep_for(takes);
        std::memcpy(to, from, bytes);
        done->set();
    });
    return cuda_code::success;
}

int simulated_platform::launch(const kernel_call& call, cuda_stream handle) {
    simulated_stream* const stream = find(handle);
    if (stream == nullptr)
        return cuda_code::invalid_resource_handle;
    const std::byte* const first = as_bytes(call.arguments);
    std::vector<std::byte> arguments(first, first + call.argument_bytes);
    stream->push_late([run = call.run, kept = std::move(arguments)] {
        run(static_cast<const void*>(kept.data()));
    });
    return cuda_code::success;
}

void simulated_platform::enqueue(cuda_stream handle, std::function<void()> kernel,
                                 std::chrono::nanoseconds takes) {
    find(handle)->push_late([run = std::move(kernel), takes] {
        if (takes.count() > 0)
            std::this_thread::sleep_for(takes);
        run();
    });
}

int simulated_platform::create_event(cuda_event* handle, unsigned flags) {
    auto* const made = new event;
    made->flags = flags;
    const std::scoped_lock lock(lock_);
    events_.insert(made);
    *handle = reinterpret_cast<cuda_event>(made);
    return cuda_code::success;
}

int simulated_platform::destroy_event(cuda_event handle) {
    const std::scoped_lock lock(lock_);
    if (events_.erase(find(handle)) == 0)
        return cuda_code::invalid_resource_handle;
    if (find(handle)->waiters.load(std::memory_order_relaxed) > 0)
        complain("cudaEventDestroy of an event that a thread waits for");
    delete find(handle);
    return cuda_code::success;
}

int simulated_platform::record_event(cuda_event handle, cuda_stream on) {
    simulated_stream* const stream = find(on);
    if (stream == nullptr)
        return cuda_code::invalid_resource_handle;
    if (stream->capture_mode.load() >= 0) {
        complain("an event's record was captured into a graph");
        return cuda_code::success;
    }
    simulated_stamp* const stamp = new_stamp();
    find(handle)->latest.store(stamp, std::memory_order_release);
    stream->push([stamp] { stamp->set(); });
    return cuda_code::success;
}

int simulated_platform::wait_event(cuda_stream on, cuda_event handle) {
    simulated_stream* const stream = find(on);
    if (stream == nullptr)
        return cuda_code::invalid_resource_handle;
    if (stream->capture_mode.load() >= 0) {
        capture_broken_ = true;
        return cuda_code::capture_isolation;
    }
    // What was recorded last counts; a later record of the same event is none of this stream's.
    if (simulated_stamp* const stamp = find(handle)->latest.load(std::memory_order_acquire))
        stream->push([stamp] { stamp->wait(); });
    return cuda_code::success;
}

int simulated_platform::query_event(cuda_event handle) {
    const simulated_stamp* const stamp = find(handle)->latest.load(std::memory_order_acquire);
    return stamp == nullptr || stamp->is_set() ? cuda_code::success : cuda_code::not_ready;
}

int simulated_platform::synchronize_event(cuda_event handle) {
    event& waited = *find(handle);
    const simulated_stamp* const stamp = waited.latest.load(std::memory_order_acquire);
    if (stamp == nullptr)
        return cuda_code::success;
    waited.waiters.fetch_add(1, std::memory_order_relaxed);
    stamp->wait();
    waited.waiters.fetch_sub(1, std::memory_order_relaxed);
    return sticky_code_.load(std::memory_order_relaxed);
}

}  // namespace stoker::detail
