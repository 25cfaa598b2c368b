#include <algorithm>
#include <cstdint>

#include <cuda_runtime_api.h>

#include "device/cast_body.hpp"
#include "device/prepare_body.hpp"
#include "device/prepare_launch.hpp"

// Kernels and their launches, nothing else: nvcc compiles no more of stoker than this.

namespace stoker::detail {
namespace {

constexpr unsigned threads_a_block = 256;
/// CUDA's limit on the second extent of a grid; what is beyond is looped over.
constexpr std::uint64_t most_blocks_down = 65535;
/// Its limit on the first.
constexpr std::uint64_t most_blocks_across = 0x7fffffff;
/// Of one image: they are numbered by 32 bits.
constexpr std::uint64_t most_groups = 0xffffffff;

/// One thread makes four pixels; blocks go over an image across, over the batch down.
template <class Body>
__global__ void __launch_bounds__(threads_a_block) prepare_image(const image_job job) {
    const std::uint32_t groups = groups_a_row(job.width);
    const std::uint64_t number = std::uint64_t{blockIdx.x} * threads_a_block + threadIdx.x;
    if (number >= std::uint64_t{groups} * job.height)
        return;
    const auto row = static_cast<std::uint32_t>(number) / groups;
    const auto group = static_cast<std::uint32_t>(number) % groups;
    for (std::uint32_t sample = blockIdx.y; sample < job.samples; sample += gridDim.y)
        Body::make_group(job, sample, row, group);
}

template <class Body>
__global__ void __launch_bounds__(threads_a_block) cast_rows(const cast_job job) {
    const std::uint64_t groups = (job.row_size + elements_a_group - 1) / elements_a_group;
    const std::uint64_t stride = std::uint64_t{gridDim.x} * threads_a_block;
    for (std::uint64_t row = blockIdx.y; row < job.rows; row += gridDim.y) {
        for (std::uint64_t group = std::uint64_t{blockIdx.x} * threads_a_block + threadIdx.x;
             group < groups; group += stride)
            Body::make_group(job, row, group);
    }
}

dim3 grid_of(std::uint64_t threads_across, std::uint64_t rows_down) {
    const std::uint64_t across = (threads_across + threads_a_block - 1) / threads_a_block;
    return {static_cast<unsigned>(std::min(across, most_blocks_across)),
            static_cast<unsigned>(std::min(rows_down, most_blocks_down))};
}

int launch_images(const void* arguments, CUstream_st* stream) {
    const auto& job = *static_cast<const image_job*>(arguments);
    const std::uint64_t groups = std::uint64_t{groups_a_row(job.width)} * job.height;
    if (groups > most_groups)
        return cudaErrorInvalidValue;
    const bool found = visit_image_body(job, [&]<class Body>(Body) {
        if (groups != 0 && job.samples != 0)
            prepare_image<Body><<<grid_of(groups, job.samples), threads_a_block, 0, stream>>>(job);
    });
    return found ? cudaGetLastError() : cudaErrorInvalidValue;
}

int launch_cast(const void* arguments, CUstream_st* stream) {
    const auto& job = *static_cast<const cast_job*>(arguments);
    const std::uint64_t groups = (job.row_size + elements_a_group - 1) / elements_a_group;
    const bool found = visit_cast_body(job, [&]<class Body>(Body) {
        if (groups != 0 && job.rows != 0)
            cast_rows<Body><<<grid_of(groups, job.rows), threads_a_block, 0, stream>>>(job);
    });
    return found ? cudaGetLastError() : cudaErrorInvalidValue;
}

}  // namespace

kernel_launch image_launch() noexcept {
    return launch_images;
}

kernel_launch cast_launch() noexcept {
    return launch_cast;
}

}  // namespace stoker::detail
