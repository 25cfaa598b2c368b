#pragma once
// The one seam between stoker and CUDA: entry points of its runtime as a table, so that the feed
// that ships is the code that is tested where there is no GPU.
//
// The types are our own, small and equal everywhere, so that the feed and its tests are built the
// same with and without a toolkit; real_cuda_table.cpp, which needs one, is where the compiler
// holds them against cuda_runtime_api.h.

#include <cstddef>

#include <stoker/device/preparation.hpp>

struct CUevent_st;  // what CUDA's cudaEvent_t points to

namespace stoker::detail {

using cuda_stream = CUstream_st*;
using cuda_event = CUevent_st*;

/// The values of cudaError_t that something here tells apart.
struct cuda_code {
    static constexpr int success = 0;
    static constexpr int invalid_value = 1;
    static constexpr int out_of_memory = 2;
    static constexpr int stub_library = 34;
    static constexpr int insufficient_driver = 35;
    static constexpr int call_requires_newer_driver = 36;
    static constexpr int no_device = 100;
    static constexpr int invalid_device = 101;
    static constexpr int invalid_resource_handle = 400;
    static constexpr int not_ready = 600;
    static constexpr int illegal_address = 700;
    static constexpr int host_memory_already_registered = 712;
    static constexpr int host_memory_not_registered = 713;
    static constexpr int not_supported = 801;
    static constexpr int system_not_ready = 802;
    static constexpr int system_driver_mismatch = 803;
    static constexpr int capture_unsupported = 900;
    static constexpr int capture_isolation = 905;
};

/// Whether the code says that there is no usable GPU here, rather than that a call failed.
constexpr bool means_no_device(int code) {
    return code == cuda_code::stub_library || code == cuda_code::insufficient_driver ||
           code == cuda_code::call_requires_newer_driver || code == cuda_code::no_device ||
           code == cuda_code::system_not_ready || code == cuda_code::system_driver_mismatch;
}

/// Whether the code is of those that calls give for a stream, or beside one, that is captured.
constexpr bool is_about_capture(int code) {
    return code >= cuda_code::capture_unsupported && code < cuda_code::capture_unsupported + 9;
}

/// cudaStreamLegacy, which nullptr is, too.
inline cuda_stream legacy_stream() {
    return reinterpret_cast<cuda_stream>(1);
}
/// cudaStreamPerThread: on each thread another stream.
inline cuda_stream per_thread_stream() {
    return reinterpret_cast<cuda_stream>(2);
}

/// Flags and enumerators, with CUDA's values.
struct cuda_flag {
    static constexpr unsigned stream_non_blocking = 1;
    static constexpr unsigned event_blocking_sync = 1;
    static constexpr unsigned event_disable_timing = 2;
    static constexpr unsigned host_portable = 1;
    static constexpr int copy_host_to_device = 1;
    static constexpr int copy_device_to_host = 2;
    static constexpr int copy_device_to_device = 3;
    static constexpr int capture_none = 0;
    static constexpr int capture_mode_global = 0;
    static constexpr int capture_mode_thread_local = 1;
};

/// Every entry gives a cudaError_t. Out-parameters stay untouched when it fails.
struct cuda_table {
    const char* kind;  ///< "CUDA", "simulated", "host"
    bool synchronous;  ///< all work has been done when the call that asked for it returns

    int (*driver_version)(int* version);
    int (*runtime_version)(int* version);
    int (*device_count)(int* count);
    int (*get_device)(int* ordinal);
    int (*set_device)(int ordinal);
    int (*device_synchronize)();
    const char* (*error_name)(int code);
    const char* (*error_text)(int code);
    int (*take_last_error)();

    int (*allocate)(void** memory, std::size_t bytes);
    int (*deallocate)(void* memory);
    int (*allocate_on)(void** memory, std::size_t bytes, cuda_stream stream);
    int (*deallocate_on)(void* memory, cuda_stream stream);
    int (*allocate_host)(void** memory, std::size_t bytes, unsigned flags);
    int (*deallocate_host)(void* memory);
    int (*register_host)(void* memory, std::size_t bytes, unsigned flags);
    int (*unregister_host)(void* memory);

    int (*stream_priorities)(int* least, int* greatest);
    int (*create_stream)(cuda_stream* stream, unsigned flags, int priority);
    int (*destroy_stream)(cuda_stream stream);
    int (*synchronize_stream)(cuda_stream stream);
    int (*wait_event)(cuda_stream stream, cuda_event event, unsigned flags);
    int (*capture_status)(cuda_stream stream, int* status);
    int (*exchange_capture_mode)(int* mode);

    int (*create_event)(cuda_event* event, unsigned flags);
    int (*destroy_event)(cuda_event event);
    int (*record_event)(cuda_event event, cuda_stream stream);
    int (*query_event)(cuda_event event);
    int (*synchronize_event)(cuda_event event);

    int (*copy_on)(void* to, const void* from, std::size_t bytes, int kind, cuda_stream stream);
    int (*launch)(const kernel_call& call, cuda_stream stream);
};

/// CUDA's runtime, linked statically; where the library was built without a toolkit, a table whose
/// every entry gives `stub_library`.
const cuda_table& real_cuda_table();
/// No device at all: the host's memory and processor, and everything at once.
const cuda_table& host_table();

}  // namespace stoker::detail
