#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

struct CUstream_st;  // what CUDA's cudaStream_t points to

/// A perceptron with one hidden layer that learns to tell digits: 64 numbers, 32 units, 10 scores.
/// Pixels and labels lie in memory of the processor that it runs on.
class mlp {
  public:
    virtual ~mlp() = default;

    /// What follows is enqueued there, and has happened when the stream has completed.
    virtual CUstream_st* stream() const = 0;
    /// One step of gradient descent on [count, 64] pixels and [count] labels.
    virtual void train(const float* pixels, const std::int64_t* labels, std::size_t count) = 0;
    /// Counts the digits that are told right.
    virtual void test(const float* pixels, const std::int64_t* labels, std::size_t count) = 0;
    /// Of those tested so far.
    virtual int right() const = 0;
};

std::unique_ptr<mlp> make_mlp_on_host();
/// On the current CUDA device. Throws where this was built without nvcc.
std::unique_ptr<mlp> make_mlp_on_gpu();
