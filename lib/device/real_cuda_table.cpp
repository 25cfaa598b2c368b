// CUDA's runtime behind the table. Built only where the toolkit is; its header's types meet ours
// here, under the compiler's eyes, and nowhere else.

#include <cuda_runtime_api.h>

#include <type_traits>

#include "device/cuda_table.hpp"

namespace stoker::detail {

namespace {

static_assert(std::is_same_v<cudaStream_t, cuda_stream> && std::is_same_v<cudaEvent_t, cuda_event>);
static_assert(cudaSuccess == cuda_code::success);
static_assert(cudaErrorInvalidValue == cuda_code::invalid_value);
static_assert(cudaErrorMemoryAllocation == cuda_code::out_of_memory);
static_assert(cudaErrorStubLibrary == cuda_code::stub_library);
static_assert(cudaErrorInsufficientDriver == cuda_code::insufficient_driver);
static_assert(cudaErrorCallRequiresNewerDriver == cuda_code::call_requires_newer_driver);
static_assert(cudaErrorNoDevice == cuda_code::no_device);
static_assert(cudaErrorInvalidDevice == cuda_code::invalid_device);
static_assert(cudaErrorInvalidResourceHandle == cuda_code::invalid_resource_handle);
static_assert(cudaErrorNotReady == cuda_code::not_ready);
static_assert(cudaErrorIllegalAddress == cuda_code::illegal_address);
static_assert(cudaErrorHostMemoryAlreadyRegistered == cuda_code::host_memory_already_registered);
static_assert(cudaErrorHostMemoryNotRegistered == cuda_code::host_memory_not_registered);
static_assert(cudaErrorNotSupported == cuda_code::not_supported);
static_assert(cudaErrorSystemNotReady == cuda_code::system_not_ready);
static_assert(cudaErrorSystemDriverMismatch == cuda_code::system_driver_mismatch);
static_assert(cudaErrorStreamCaptureUnsupported == cuda_code::capture_unsupported);
static_assert(cudaErrorStreamCaptureIsolation == cuda_code::capture_isolation);
static_assert(cudaStreamNonBlocking == cuda_flag::stream_non_blocking);
static_assert(cudaEventBlockingSync == cuda_flag::event_blocking_sync);
static_assert(cudaEventDisableTiming == cuda_flag::event_disable_timing);
static_assert(cudaHostRegisterPortable == cuda_flag::host_portable);
static_assert(cudaHostAllocPortable == cuda_flag::host_portable);
static_assert(cudaMemcpyHostToDevice == cuda_flag::copy_host_to_device);
static_assert(cudaMemcpyDeviceToHost == cuda_flag::copy_device_to_host);
static_assert(cudaMemcpyDeviceToDevice == cuda_flag::copy_device_to_device);
static_assert(cudaStreamCaptureStatusNone == cuda_flag::capture_none);
static_assert(cudaStreamCaptureModeGlobal == cuda_flag::capture_mode_global);
static_assert(cudaStreamCaptureModeThreadLocal == cuda_flag::capture_mode_thread_local);

int capture_status(cuda_stream stream, int* status) {
    cudaStreamCaptureStatus found{};
    const cudaError_t code = ::cudaStreamIsCapturing(stream, &found);
    if (code == cudaSuccess)
        *status = found;
    return code;
}

int exchange_capture_mode(int* mode) {
    auto exchanged = static_cast<cudaStreamCaptureMode>(*mode);
    const cudaError_t code = ::cudaThreadExchangeStreamCaptureMode(&exchanged);
    if (code == cudaSuccess)
        *mode = exchanged;
    return code;
}

int launch(const kernel_call& call, cuda_stream stream) {
    if (call.launch == nullptr)
        return cudaErrorInvalidDeviceFunction;
    return call.launch(call.arguments, stream);
}

// As captureless lambdas: the runtime's own functions differ in result and enumerations.
const cuda_table table{
    .kind = "CUDA",
    .synchronous = false,
    .driver_version = [](int* version) -> int { return ::cudaDriverGetVersion(version); },
    .runtime_version = [](int* version) -> int { return ::cudaRuntimeGetVersion(version); },
    .device_count = [](int* count) -> int { return ::cudaGetDeviceCount(count); },
    .get_device = [](int* ordinal) -> int { return ::cudaGetDevice(ordinal); },
    .set_device = [](int ordinal) -> int { return ::cudaSetDevice(ordinal); },
    .device_synchronize = []() -> int { return ::cudaDeviceSynchronize(); },
    .error_name = [](int code) { return ::cudaGetErrorName(static_cast<cudaError_t>(code)); },
    .error_text = [](int code) { return ::cudaGetErrorString(static_cast<cudaError_t>(code)); },
    .take_last_error = []() -> int { return ::cudaGetLastError(); },
    .allocate = [](void** memory, std::size_t bytes) -> int { return ::cudaMalloc(memory, bytes); },
    .deallocate = [](void* memory) -> int { return ::cudaFree(memory); },
    .allocate_on = [](void** memory, std::size_t bytes, cuda_stream stream) -> int {
        return ::cudaMallocAsync(memory, bytes, stream);
    },
    .deallocate_on = [](void* memory, cuda_stream stream) -> int {
        return ::cudaFreeAsync(memory, stream);
    },
    .allocate_host = [](void** memory, std::size_t bytes, unsigned flags) -> int {
        return ::cudaHostAlloc(memory, bytes, flags);
    },
    .deallocate_host = [](void* memory) -> int { return ::cudaFreeHost(memory); },
    .register_host = [](void* memory, std::size_t bytes, unsigned flags) -> int {
        return ::cudaHostRegister(memory, bytes, flags);
    },
    .unregister_host = [](void* memory) -> int { return ::cudaHostUnregister(memory); },
    .stream_priorities = [](int* least, int* greatest) -> int {
        return ::cudaDeviceGetStreamPriorityRange(least, greatest);
    },
    .create_stream = [](cuda_stream* stream, unsigned flags, int priority) -> int {
        return ::cudaStreamCreateWithPriority(stream, flags, priority);
    },
    .destroy_stream = [](cuda_stream stream) -> int { return ::cudaStreamDestroy(stream); },
    .synchronize_stream = [](cuda_stream stream) -> int { return ::cudaStreamSynchronize(stream); },
    .wait_event = [](cuda_stream stream, cuda_event event, unsigned flags) -> int {
        return ::cudaStreamWaitEvent(stream, event, flags);
    },
    .capture_status = capture_status,
    .exchange_capture_mode = exchange_capture_mode,
    .create_event = [](cuda_event* event, unsigned flags) -> int {
        return ::cudaEventCreateWithFlags(event, flags);
    },
    .destroy_event = [](cuda_event event) -> int { return ::cudaEventDestroy(event); },
    .record_event = [](cuda_event event, cuda_stream stream) -> int {
        return ::cudaEventRecord(event, stream);
    },
    .query_event = [](cuda_event event) -> int { return ::cudaEventQuery(event); },
    .synchronize_event = [](cuda_event event) -> int { return ::cudaEventSynchronize(event); },
    .copy_on = [](void* to, const void* from, std::size_t bytes, int kind,
                  cuda_stream stream) -> int {
        return ::cudaMemcpyAsync(to, from, bytes, static_cast<cudaMemcpyKind>(kind), stream);
    },
    .launch = launch,
};

}  // namespace

const cuda_table& real_cuda_table() {
    return table;
}

}  // namespace stoker::detail
