// The simulated machine's face: streams, capture, faults, and the table of entries with CUDA's
// names, each of which finds the one platform there is.

#include <algorithm>
#include <utility>

#include "device/simulated_platform.hpp"

namespace stoker::detail {

namespace {

thread_local int current_ordinal = 0;
thread_local int own_capture_mode = cuda_flag::capture_mode_global;

}  // namespace

/// The legacy stream is no more than a stream here: it does not wait for others of its device.
simulated_stream* simulated_platform::find(cuda_stream stream) {
    const std::scoped_lock lock(lock_);
    if (const auto found = streams_.find(stream); found != streams_.end())
        return found->second.get();
    const bool legacy = stream == nullptr || stream == legacy_stream();
    if (!legacy && stream != per_thread_stream())
        return nullptr;
    const std::thread::id owner = legacy ? std::thread::id() : std::this_thread::get_id();
    std::unique_ptr<simulated_stream>& found = implicit_streams_[{current_ordinal, owner}];
    if (found == nullptr)
        found = std::make_unique<simulated_stream>(
            current_ordinal, how_.seed * 7919 + ++streams_made_, how_.longest_delay);
    return found.get();
}

simulated_stamp* simulated_platform::new_stamp() {
    const std::scoped_lock lock(lock_);
    return &stamps_.emplace_back();
}

void simulated_platform::complain(std::string text) {
    if (violations_.size() < 100)
        violations_.push_back(std::move(text));
}

int simulated_platform::enter(const char* entry, bool unsafe_in_capture) {
    touched_.fetch_or(1U << static_cast<unsigned>(current_ordinal), std::memory_order_relaxed);
    if (simulated_stream::is_here()) {
        const std::scoped_lock lock(lock_);
        complain(std::string(entry) + " was called on a stream's own thread");
    }
    if (const int sticky = sticky_code_.load(std::memory_order_relaxed))
        return sticky;
    if (unsafe_in_capture && capturing_.load(std::memory_order_relaxed) && breaks_a_capture())
        return cuda_code::capture_unsupported;
    return faults_armed_.load(std::memory_order_relaxed) ? take_fault(entry) : cuda_code::success;
}

bool simulated_platform::breaks_a_capture() {
    const std::scoped_lock lock(lock_);
    const std::thread::id here = std::this_thread::get_id();
    const auto breaks = [here](const auto& entry) {
        const simulated_stream& stream = *entry.second;
        const int mode = stream.capture_mode.load();
        return mode >= 0 && (stream.capture_thread.load() == here ||
                             (mode == cuda_flag::capture_mode_global &&
                              own_capture_mode == cuda_flag::capture_mode_global));
    };
    if (!std::ranges::any_of(streams_, breaks) && !std::ranges::any_of(implicit_streams_, breaks))
        return false;
    capture_broken_ = true;
    return true;
}

int simulated_platform::take_fault(std::string_view entry) {
    const std::scoped_lock lock(lock_);
    for (planned_fault& fault : faults_) {
        if (fault.entry != entry || fault.times == 0)
            continue;
        if (fault.after > 0) {
            --fault.after;
            continue;
        }
        --fault.times;
        if (fault.sticky)
            sticky_code_ = fault.code;
        return fault.code;
    }
    return cuda_code::success;
}

void simulated_platform::fail(std::string_view entry, int code, int after, int times, bool sticky) {
    const std::scoped_lock lock(lock_);
    faults_.push_back({std::string(entry), code, after, times, sticky});
    faults_armed_ = true;
}

void simulated_platform::begin_capture(cuda_stream handle, int mode) {
    simulated_stream* const stream = find(handle);
    stream->capture_thread = std::this_thread::get_id();
    stream->capture_mode = mode;
    capture_broken_ = false;
    capturing_ = true;
}

bool simulated_platform::end_capture(cuda_stream handle) {
    find(handle)->capture_mode = -1;
    capturing_ = false;
    return !capture_broken_;
}

simulated_traffic simulated_platform::traffic() const {
    const std::scoped_lock lock(lock_);
    return traffic_;
}

std::vector<std::string> simulated_platform::violations() const {
    const std::scoped_lock lock(lock_);
    return violations_;
}

bool simulated_platform::touched(int ordinal) const {
    return (touched_.load() >> static_cast<unsigned>(ordinal) & 1U) != 0;
}

std::size_t simulated_platform::leftovers() const {
    const std::scoped_lock lock(lock_);
    return blocks_.size() + streams_.size() + events_.size();
}

int simulated_platform::create_stream(cuda_stream* handle) {
    const std::scoped_lock lock(lock_);
    auto made = std::make_unique<simulated_stream>(
        current_ordinal, how_.seed * 7919 + ++streams_made_, how_.longest_delay);
    *handle = reinterpret_cast<cuda_stream>(made.get());
    streams_[*handle] = std::move(made);
    return cuda_code::success;
}

int simulated_platform::destroy_stream(cuda_stream handle) {
    std::unique_ptr<simulated_stream> dying;
    const std::scoped_lock lock(lock_);
    const auto found = streams_.find(handle);
    if (found == streams_.end())
        return cuda_code::invalid_resource_handle;
    dying = std::move(found->second);
    streams_.erase(found);
    return cuda_code::success;
}

int simulated_platform::synchronize_stream(cuda_stream handle) {
    simulated_stream* const stream = find(handle);
    if (stream == nullptr)
        return cuda_code::invalid_resource_handle;
    drain(*stream);
    return sticky_code_.load(std::memory_order_relaxed);
}

void simulated_platform::drain(simulated_stream& stream) {
    simulated_stamp* const stamp = new_stamp();
    stream.push([stamp] { stamp->set(); });
    stamp->wait();
}

int simulated_platform::synchronize_device() {
    std::vector<cuda_stream> made;
    std::vector<simulated_stream*> implicit;
    {
        const std::scoped_lock lock(lock_);
        for (const auto& [handle, stream] : streams_) {
            if (stream->ordinal() == current_ordinal)
                made.push_back(handle);
        }
        for (const auto& [owner, stream] : implicit_streams_) {
            if (stream->ordinal() == current_ordinal)
                implicit.push_back(stream.get());
        }
    }
    for (const cuda_stream each : made)
        synchronize_stream(each);
    for (simulated_stream* const each : implicit)
        drain(*each);
    return sticky_code_.load(std::memory_order_relaxed);
}

int simulated_platform::capture_status(cuda_stream handle, int* status) {
    const simulated_stream* const stream = find(handle);
    if (stream == nullptr)
        return cuda_code::invalid_resource_handle;
    *status = stream->capture_mode.load() >= 0 ? 1 : cuda_flag::capture_none;
    return cuda_code::success;
}

namespace {

/// Enters, and does the work when that succeeds.
template <class Work>
int on_platform(const char* entry, bool unsafe_in_capture, Work&& work) {
    simulated_platform* const platform = simulated_platform::current();
    if (platform == nullptr)
        return cuda_code::no_device;
    const int code = platform->enter(entry, unsafe_in_capture);
    return code != cuda_code::success ? code : work(*platform);
}

int set_device(int ordinal) {
    simulated_platform* const platform = simulated_platform::current();
    if (platform == nullptr || ordinal < 0 || ordinal >= platform->device_count())
        return cuda_code::invalid_device;
    current_ordinal = ordinal;
    return cuda_code::success;
}

int exchange_capture_mode(int* mode) {
    std::swap(*mode, own_capture_mode);
    return cuda_code::success;
}

int simulated_version(int* version) {
    *version = 13000;
    return cuda_code::success;
}

const char* error_name(int code) {
    switch (code) {
        case cuda_code::out_of_memory:
            return "cudaErrorMemoryAllocation";
        case cuda_code::illegal_address:
            return "cudaErrorIllegalAddress";
        case cuda_code::not_supported:
            return "cudaErrorNotSupported";
        default:
            return "cudaErrorOfTheSimulation";
    }
}

const cuda_table entries{
    .kind = "simulated",
    .synchronous = false,
    .driver_version = simulated_version,
    .runtime_version = simulated_version,
    .device_count =
        [](int* count) {
            simulated_platform* const platform = simulated_platform::current();
            if (platform == nullptr)
                return cuda_code::no_device;
            *count = platform->device_count();
            return cuda_code::success;
        },
    .get_device =
        [](int* ordinal) {
            *ordinal = current_ordinal;
            return cuda_code::success;
        },
    .set_device = set_device,
    .device_synchronize =
        [] {
            return on_platform("cudaDeviceSynchronize", true,
                               [](simulated_platform& all) { return all.synchronize_device(); });
        },
    .error_name = error_name,
    .error_text = [](int) { return "a failure of the simulation"; },
    .take_last_error = [] { return cuda_code::success; },
    .allocate =
        [](void** memory, std::size_t bytes) {
            return on_platform("cudaMalloc", true, [&](simulated_platform& all) {
                return all.allocate(memory, bytes);
            });
        },
    .deallocate =
        [](void* memory) {
            return on_platform("cudaFree", true, [&](simulated_platform& all) {
                return all.deallocate(memory, "cudaFree");
            });
        },
    .allocate_on =
        [](void** memory, std::size_t bytes, cuda_stream stream) {
            return on_platform("cudaMallocAsync", false, [&](simulated_platform& all) {
                return all.allocate_on(memory, bytes, stream);
            });
        },
    .deallocate_on =
        [](void* memory, cuda_stream stream) {
            return on_platform("cudaFreeAsync", false, [&](simulated_platform& all) {
                return all.deallocate_on(memory, stream);
            });
        },
    .allocate_host =
        [](void** memory, std::size_t bytes, unsigned) {
            return on_platform("cudaHostAlloc", true, [&](simulated_platform& all) {
                return all.allocate_host(memory, bytes);
            });
        },
    .deallocate_host =
        [](void* memory) {
            return on_platform("cudaFreeHost", true, [&](simulated_platform& all) {
                return all.deallocate(memory, "cudaFreeHost");
            });
        },
    .register_host =
        [](void* memory, std::size_t bytes, unsigned) {
            return on_platform("cudaHostRegister", true, [&](simulated_platform& all) {
                return all.register_host(memory, bytes);
            });
        },
    .unregister_host =
        [](void* memory) {
            return on_platform("cudaHostUnregister", true, [&](simulated_platform& all) {
                return all.unregister_host(memory);
            });
        },
    .stream_priorities =
        [](int* least, int* greatest) {
            *least = 0;
            *greatest = -5;
            return cuda_code::success;
        },
    .create_stream =
        [](cuda_stream* stream, unsigned, int) {
            return on_platform("cudaStreamCreateWithPriority", false,
                               [&](simulated_platform& all) { return all.create_stream(stream); });
        },
    .destroy_stream =
        [](cuda_stream stream) {
            return on_platform("cudaStreamDestroy", false,
                               [&](simulated_platform& all) { return all.destroy_stream(stream); });
        },
    .synchronize_stream =
        [](cuda_stream stream) {
            // Also where the device has failed: a real one does nothing by then.
            simulated_platform* const platform = simulated_platform::current();
            if (platform == nullptr)
                return cuda_code::no_device;
            const int entered = platform->enter("cudaStreamSynchronize", true);
            if (entered == cuda_code::capture_unsupported)
                return entered;
            const int code = platform->synchronize_stream(stream);
            return entered != cuda_code::success ? entered : code;
        },
    .wait_event =
        [](cuda_stream stream, cuda_event event, unsigned) {
            return on_platform("cudaStreamWaitEvent", false, [&](simulated_platform& all) {
                return all.wait_event(stream, event);
            });
        },
    .capture_status =
        [](cuda_stream stream, int* status) {
            return on_platform("cudaStreamIsCapturing", false, [&](simulated_platform& all) {
                return all.capture_status(stream, status);
            });
        },
    .exchange_capture_mode = exchange_capture_mode,
    .create_event =
        [](cuda_event* event, unsigned flags) {
            return on_platform("cudaEventCreateWithFlags", false, [&](simulated_platform& all) {
                return all.create_event(event, flags);
            });
        },
    .destroy_event =
        [](cuda_event event) {
            return on_platform("cudaEventDestroy", false,
                               [&](simulated_platform& all) { return all.destroy_event(event); });
        },
    .record_event =
        [](cuda_event event, cuda_stream stream) {
            return on_platform("cudaEventRecord", false, [&](simulated_platform& all) {
                return all.record_event(event, stream);
            });
        },
    .query_event =
        [](cuda_event event) {
            return on_platform("cudaEventQuery", true,
                               [&](simulated_platform& all) { return all.query_event(event); });
        },
    .synchronize_event =
        [](cuda_event event) {
            return on_platform("cudaEventSynchronize", true, [&](simulated_platform& all) {
                return all.synchronize_event(event);
            });
        },
    .copy_on =
        [](void* to, const void* from, std::size_t bytes, int kind, cuda_stream stream) {
            return on_platform("cudaMemcpyAsync", false, [&](simulated_platform& all) {
                return all.copy_on(to, from, bytes, kind, stream);
            });
        },
    .launch =
        [](const kernel_call& call, cuda_stream stream) {
            return on_platform("cudaLaunchKernel", false,
                               [&](simulated_platform& all) { return all.launch(call, stream); });
        },
};

}  // namespace

const cuda_table& simulated_platform::table() {
    return entries;
}

}  // namespace stoker::detail
