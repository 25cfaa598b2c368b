#include <cuda_runtime_api.h>

#include "check_kernels.hpp"

namespace gpu_check {
namespace {

constexpr unsigned threads_a_block = 256;

__device__ std::uint64_t nanoseconds_now() {
    std::uint64_t now = 0;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

__global__ void spin(const spin_job job) {
    const std::uint64_t end = nanoseconds_now() + job.nanoseconds;
    while (nanoseconds_now() < end) {
    }
}

__global__ void __launch_bounds__(threads_a_block) compare(const compare_job job) {
    const std::uint64_t row = blockIdx.x;
    unsigned long long bad = 0;
    for (std::uint64_t place = threadIdx.x; place < words_a_sample; place += threads_a_block)
        bad += job.words[row * words_a_sample + place] != word_of(job.first + row, place);
    if (threadIdx.x == 0)
        bad += job.labels[row] != static_cast<std::int64_t>(job.first + row);
    if (bad != 0)
        atomicAdd(job.bad, bad);
}

int launch_spin(const void* arguments, CUstream_st* stream) {
    spin<<<1, 1, 0, stream>>>(*static_cast<const spin_job*>(arguments));
    return cudaGetLastError();
}

int launch_compare(const void* arguments, CUstream_st* stream) {
    const auto& job = *static_cast<const compare_job*>(arguments);
    compare<<<static_cast<unsigned>(job.rows), threads_a_block, 0, stream>>>(job);
    return cudaGetLastError();
}

}  // namespace

launcher spin_launch() noexcept {
    return launch_spin;
}

launcher compare_launch() noexcept {
    return launch_compare;
}

}  // namespace gpu_check
