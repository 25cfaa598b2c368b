#include "gpu_check/check_kernels.hpp"

#include <chrono>
#include <thread>

namespace gpu_check {

namespace {

void spin(const void* arguments) {
    const auto& job = *static_cast<const spin_job*>(arguments);
    std::this_thread::sleep_for(std::chrono::nanoseconds(job.nanoseconds));
}

void compare(const void* arguments) {
    const auto& job = *static_cast<const compare_job*>(arguments);
    for (std::uint64_t row = 0; row < job.rows; ++row) {
        const std::uint64_t sample = job.first + row;
        for (std::uint64_t place = 0; place < words_a_sample; ++place) {
            if (job.words[row * words_a_sample + place] != word_of(sample, place))
                ++*job.bad;
        }
        if (job.labels[row] != static_cast<std::int64_t>(sample))
            ++*job.bad;
    }
}

}  // namespace

stoker::detail::kernel_call call_of(const spin_job& job) {
    return {.name = "spin",
            .launch = spin_launch(),
            .run = spin,
            .arguments = &job,
            .argument_bytes = sizeof job};
}

stoker::detail::kernel_call call_of(const compare_job& job) {
    return {.name = "compare",
            .launch = compare_launch(),
            .run = compare,
            .arguments = &job,
            .argument_bytes = sizeof job};
}

}  // namespace gpu_check
