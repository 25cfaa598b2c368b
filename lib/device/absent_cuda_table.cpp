// Where the library was built without CUDA's toolkit: every call says so.

#include "device/cuda_table.hpp"

namespace stoker::detail {

namespace {

template <class... Arguments>
int absent(Arguments...) {
    return cuda_code::stub_library;
}

int no_version(int* version) {
    *version = 0;
    return cuda_code::success;
}

const cuda_table table{
    .kind = "CUDA",
    .synchronous = false,
    .driver_version = no_version,
    .runtime_version = no_version,
    .device_count = absent,
    .get_device = absent,
    .set_device = absent,
    .device_synchronize = absent,
    .error_name = [](int) { return "cudaErrorStubLibrary"; },
    .error_text = [](int) { return "stoker was built without CUDA's toolkit"; },
    .take_last_error = absent,
    .allocate = absent,
    .deallocate = absent,
    .allocate_on = absent,
    .deallocate_on = absent,
    .allocate_host = absent,
    .deallocate_host = absent,
    .register_host = absent,
    .unregister_host = absent,
    .stream_priorities = absent,
    .create_stream = absent,
    .destroy_stream = absent,
    .synchronize_stream = absent,
    .wait_event = absent,
    .capture_status = absent,
    .exchange_capture_mode = absent,
    .create_event = absent,
    .destroy_event = absent,
    .record_event = absent,
    .query_event = absent,
    .synchronize_event = absent,
    .copy_on = absent,
    .launch = [](const kernel_call&, cuda_stream) -> int { return cuda_code::stub_library; },
};

}  // namespace

const cuda_table& real_cuda_table() {
    return table;
}

}  // namespace stoker::detail
