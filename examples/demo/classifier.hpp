#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <stoker/tensor/shape.hpp>
#include <stoker/tensor/tensor_view.hpp>

namespace demo {

using pictures = stoker::tensor_view<const std::uint8_t, stoker::dynamic, 64, 64>;
using labels = stoker::tensor_view<const std::int64_t, stoker::dynamic>;

/// Sums over samples: how the model did on them.
struct score {
    double loss = 0;
    std::size_t correct = 0;
    std::size_t count = 0;

    double mean_loss() const { return count == 0 ? 0 : loss / static_cast<double>(count); }
    double accuracy() const {
        return count == 0 ? 0 : static_cast<double>(correct) / static_cast<double>(count);
    }
    score& operator+=(const score& other);
};

/// A perceptron with one hidden layer, which tells digits apart. It looks at the means of a
/// picture's 4×4 squares.
class classifier {
  public:
    explicit classifier(std::uint64_t seed);

    /// One step of gradient descent with momentum on a batch. The score is that before the step.
    score train(pictures batch, labels truth, float learning_rate);
    score evaluate(pictures batch, labels truth);

  private:
    /// A dense layer with its gradient and its momentum; weights lie input by input, so that the
    /// inner loops run over outputs, side by side in memory.
    struct layer {
        layer(std::size_t given_inputs, std::size_t given_outputs);
        void forward(const float* input, float* output) const;
        void accumulate(const float* input, const float* output_gradient);
        void backward(const float* output_gradient, float* input_gradient) const;
        void step(float learning_rate, float batch_size);

        std::size_t inputs;
        std::size_t outputs;
        std::vector<float> weights;  ///< [inputs + 1, outputs], the last row is the bias
        std::vector<float> gradient;
        std::vector<float> momentum;
    };

    score predict(const std::uint8_t* picture, std::int64_t label);

    layer first_;
    layer second_;
    std::vector<float> input_;
    std::vector<float> hidden_;
    std::vector<float> output_;  ///< after predict: the probabilities
};

}  // namespace demo
