#include "device/prepare_call.hpp"

#include <type_traits>

#include "device/prepare_launch.hpp"
#include "device/prepare_on_host.hpp"

namespace stoker::detail {
namespace {

template <class Job>
void run(const void* arguments) {
    prepare_on_host(*static_cast<const Job*>(arguments));
}

template <class Job>
kernel_call call_with(const Job& job, const char* name, kernel_launch launch) {
    static_assert(std::is_trivially_copyable_v<Job>);
    return {.name = name,
            .launch = launch,
            .run = run<Job>,
            .arguments = &job,
            .argument_bytes = sizeof(Job)};
}

}  // namespace

kernel_call call_of(const image_job& job) {
    return call_with(job, "stoker::prepare (image)", image_launch());
}

kernel_call call_of(const cast_job& job) {
    return call_with(job, "stoker::prepare (cast)", cast_launch());
}

}  // namespace stoker::detail
