#pragma once

struct CUstream_st;  // what CUDA's cudaStream_t points to

namespace stoker::detail {

/// Launches a kernel of the job that `arguments` points to on a stream of the device that is set,
/// and gives the runtime's code: 0, or what failed, cudaErrorInvalidValue where there is no such
/// variant. Nothing is launched for a job without elements.
using kernel_launch = int (*)(const void* arguments, CUstream_st* stream);

/// Of an image_job and of a cast_job; null where the library was built without nvcc.
kernel_launch image_launch() noexcept;
kernel_launch cast_launch() noexcept;

}  // namespace stoker::detail
