// A device that is none: memory is the host's, streams and events are names without meaning, and
// whatever is asked for has happened when the call returns.

#include <cstdlib>
#include <cstring>

#include <stoker/collate/column.hpp>
#include "device/cuda_table.hpp"

namespace stoker::detail {

namespace {

template <class... Arguments>
int done(Arguments...) {
    return cuda_code::success;
}

/// Something for handles to point to.
char handle_target = 0;

template <class Handle>
int give_handle(Handle* handle) {
    *handle = reinterpret_cast<Handle>(&handle_target);
    return cuda_code::success;
}

int give_zero(int* number) {
    *number = 0;
    return cuda_code::success;
}

int allocate(void** memory, std::size_t bytes) {
    void* const made = std::aligned_alloc(column_alignment, align_up(bytes, column_alignment));
    if (made == nullptr)
        return cuda_code::out_of_memory;
    *memory = made;
    return cuda_code::success;
}

int release(void* memory) {
    std::free(memory);
    return cuda_code::success;
}

const char* describe(int code) {
    return code == cuda_code::out_of_memory ? "out of memory" : "no error";
}

const cuda_table table{
    .kind = "host",
    .synchronous = true,
    .driver_version = give_zero,
    .runtime_version = give_zero,
    .device_count =
        [](int* count) {
            *count = 1;
            return cuda_code::success;
        },
    .get_device = give_zero,
    .set_device = done,
    .device_synchronize = done,
    .error_name = describe,
    .error_text = describe,
    .take_last_error = done,
    .allocate = allocate,
    .deallocate = release,
    .allocate_on = [](void** memory, std::size_t bytes,
                      cuda_stream) { return allocate(memory, bytes); },
    .deallocate_on = [](void* memory, cuda_stream) { return release(memory); },
    .allocate_host = [](void** memory, std::size_t bytes,
                        unsigned) { return allocate(memory, bytes); },
    .deallocate_host = release,
    .register_host = done,
    .unregister_host = done,
    .stream_priorities =
        [](int* least, int* greatest) {
            *least = *greatest = 0;
            return cuda_code::success;
        },
    .create_stream = [](cuda_stream* stream, unsigned, int) { return give_handle(stream); },
    .destroy_stream = done,
    .synchronize_stream = done,
    .wait_event = done,
    .capture_status = [](cuda_stream, int* status) { return give_zero(status); },
    .exchange_capture_mode = done,
    .create_event = [](cuda_event* event, unsigned) { return give_handle(event); },
    .destroy_event = done,
    .record_event = done,
    .query_event = done,
    .synchronize_event = done,
    .copy_on =
        [](void* to, const void* from, std::size_t bytes, int, cuda_stream) {
            std::memcpy(to, from, bytes);
            return cuda_code::success;
        },
    .launch =
        [](const kernel_call& call, cuda_stream) {
            call.run(call.arguments);
            return cuda_code::success;
        },
};

}  // namespace

const cuda_table& host_table() {
    return table;
}

}  // namespace stoker::detail
