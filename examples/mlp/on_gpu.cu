#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <cuda_runtime.h>

#define RUNS_ANYWHERE __host__ __device__
#include "mlp_on.hpp"

namespace {

constexpr unsigned threads_a_block = 128;

template <class Job>
__global__ void run_job(const Job job, std::size_t threads) {
    const std::size_t thread = std::size_t{blockIdx.x} * threads_a_block + threadIdx.x;
    if (thread < threads)
        job(thread);
}

void check(cudaError_t code, const char* what) {
    if (code != cudaSuccess)
        throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(code));
}

/// Kernels on a stream of their own, which waits for no other.
class gpu {
  public:
    gpu() {
        check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a stream");
        // Pinned: kernels count in it, and the host reads it when the stream has completed.
        check(cudaHostAlloc(&counter_, sizeof(int), cudaHostAllocPortable), "pinned memory");
        *counter_ = 0;
    }
    gpu(const gpu&) = delete;
    gpu& operator=(const gpu&) = delete;
    ~gpu() {
        cudaStreamSynchronize(stream_);
        for (void* each : memory_)
            cudaFree(each);
        cudaFreeHost(counter_);
        cudaStreamDestroy(stream_);
    }

    CUstream_st* stream() const { return stream_; }

    float* allocate(std::size_t count) {
        void* made = nullptr;
        check(cudaMalloc(&made, count * sizeof(float)), "device memory");
        memory_.push_back(made);
        return static_cast<float*>(made);
    }
    int* counter() { return counter_; }
    void fill(float* to, const std::vector<float>& values) {
        check(cudaMemcpyAsync(to, values.data(), values.size() * sizeof(float),
                              cudaMemcpyHostToDevice, stream_),
              "a copy");
        check(cudaStreamSynchronize(stream_), "a copy");  // the values are about to go
    }

    template <class Job>
    void run(const Job& job, std::size_t threads) {
        const std::size_t blocks = (threads + threads_a_block - 1) / threads_a_block;
        run_job<<<static_cast<unsigned>(blocks), threads_a_block, 0, stream_>>>(job, threads);
        check(cudaGetLastError(), "a kernel");
    }

  private:
    cudaStream_t stream_ = nullptr;
    int* counter_ = nullptr;
    std::vector<void*> memory_;
};

}  // namespace

std::unique_ptr<mlp> make_mlp_on_gpu() {
    return std::make_unique<mlp_on<gpu>>();
}
