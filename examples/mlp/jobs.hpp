#pragma once
// What one thread of each kernel does, compiled for GPUs by nvcc and for the host by the C++
// compiler. Matrices are row-major; a layer's weights are [outputs][inputs + 1], the last of a row
// being the bias. No job writes what another of its threads reads or writes. Who includes this says
// what RUNS_ANYWHERE is: `__host__ __device__` for nvcc, nothing for the host's compiler.

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace jobs {

/// One output of one sample.
struct forward {
    const float* inputs;
    const float* weights;
    float* outputs;
    std::size_t input_count;
    std::size_t output_count;
    bool rectified;

    RUNS_ANYWHERE void operator()(std::size_t thread) const {
        const float* given = inputs + thread / output_count * input_count;
        const float* row = weights + thread % output_count * (input_count + 1);
        float sum = row[input_count];
        for (std::size_t i = 0; i < input_count; ++i)
            sum += row[i] * given[i];
        outputs[thread] = rectified && sum < 0 ? 0 : sum;
    }
};

/// Of one sample: the gradient of its share in the mean cross entropy, in the place of its scores.
struct softmax_gradient {
    float* scores;
    const std::int64_t* labels;
    std::size_t classes;
    std::size_t samples;

    RUNS_ANYWHERE void operator()(std::size_t thread) const {
        float* own = scores + thread * classes;
        float highest = own[0];
        for (std::size_t k = 1; k < classes; ++k)
            highest = own[k] > highest ? own[k] : highest;
        float sum = 0;
        for (std::size_t k = 0; k < classes; ++k)
            sum += own[k] = std::exp(own[k] - highest);
        for (std::size_t k = 0; k < classes; ++k) {
            const bool wanted = k == static_cast<std::size_t>(labels[thread]);
            own[k] = (own[k] / sum - (wanted ? 1.0f : 0.0f)) / static_cast<float>(samples);
        }
    }
};

/// The gradient of one input of a layer, of one sample: of nothing where it was rectified away.
struct backward {
    const float* output_gradients;
    const float* weights;
    const float* inputs;
    float* input_gradients;
    std::size_t input_count;
    std::size_t output_count;

    RUNS_ANYWHERE void operator()(std::size_t thread) const {
        const float* given = output_gradients + thread / input_count * output_count;
        const float* column = weights + thread % input_count;
        float sum = 0;
        for (std::size_t k = 0; k < output_count; ++k)
            sum += given[k] * column[k * (input_count + 1)];
        input_gradients[thread] = inputs[thread] > 0 ? sum : 0;
    }
};

/// One weight of a layer, after all samples of the batch.
struct descend {
    const float* inputs;
    const float* output_gradients;
    float* weights;
    std::size_t input_count;
    std::size_t output_count;
    std::size_t samples;
    float rate;

    RUNS_ANYWHERE void operator()(std::size_t thread) const {
        const std::size_t unit = thread / (input_count + 1);
        const std::size_t input = thread % (input_count + 1);
        float gradient = 0;
        for (std::size_t i = 0; i < samples; ++i) {
            const float given = input < input_count ? inputs[i * input_count + input] : 1;
            gradient += given * output_gradients[i * output_count + unit];
        }
        weights[thread] -= rate * gradient;
    }
};

/// A single thread: how many samples have their highest score where their label is.
struct count_right {
    const float* scores;
    const std::int64_t* labels;
    int* right;
    std::size_t classes;
    std::size_t samples;

    RUNS_ANYWHERE void operator()(std::size_t) const {
        for (std::size_t i = 0; i < samples; ++i) {
            std::size_t best = 0;
            for (std::size_t k = 1; k < classes; ++k)
                best = scores[i * classes + k] > scores[i * classes + best] ? k : best;
            *right += best == static_cast<std::size_t>(labels[i]) ? 1 : 0;
        }
    }
};

}  // namespace jobs
