#include "classifier.hpp"

#include <algorithm>
#include <cmath>
#include <random>

namespace demo {
namespace {

constexpr std::size_t picture_side = 64;
constexpr std::size_t square = 4;
constexpr std::size_t input_side = picture_side / square;
constexpr std::size_t input_count = input_side * input_side;
constexpr std::size_t hidden_count = 128;
constexpr std::size_t class_count = 10;
constexpr float momentum_kept = 0.9F;

void shrink(const std::uint8_t* picture, float* input) {
    for (std::size_t row = 0; row < input_side; ++row) {
        for (std::size_t column = 0; column < input_side; ++column) {
            unsigned sum = 0;
            for (std::size_t y = 0; y < square; ++y) {
                const auto* line = picture + (row * square + y) * picture_side + column * square;
                for (std::size_t x = 0; x < square; ++x)
                    sum += line[x];
            }
            input[row * input_side + column] = static_cast<float>(sum) / (255 * square * square);
        }
    }
}

/// Turns outputs into probabilities; returns the most likely class.
std::size_t softmax(std::vector<float>& values) {
    const auto top = std::max_element(values.begin(), values.end());
    const float largest = *top;
    float sum = 0;
    for (float& value : values)
        sum += value = std::exp(value - largest);
    for (float& value : values)
        value /= sum;
    return static_cast<std::size_t>(top - values.begin());
}

}  // namespace

score& score::operator+=(const score& other) {
    loss += other.loss;
    correct += other.correct;
    count += other.count;
    return *this;
}

classifier::layer::layer(std::size_t given_inputs, std::size_t given_outputs)
    : inputs(given_inputs),
      outputs(given_outputs),
      weights((given_inputs + 1) * given_outputs),
      gradient(weights.size()),
      momentum(weights.size()) {}

void classifier::layer::forward(const float* input, float* output) const {
    std::copy_n(&weights[inputs * outputs], outputs, output);
    for (std::size_t i = 0; i < inputs; ++i) {
        const float value = input[i];
        if (value == 0)
            continue;  // most of a picture is black
        const float* row = &weights[i * outputs];
        for (std::size_t j = 0; j < outputs; ++j)
            output[j] += value * row[j];
    }
}

void classifier::layer::accumulate(const float* input, const float* output_gradient) {
    for (std::size_t i = 0; i <= inputs; ++i) {
        const float value = i == inputs ? 1 : input[i];
        if (value == 0)
            continue;
        float* row = &gradient[i * outputs];
        for (std::size_t j = 0; j < outputs; ++j)
            row[j] += value * output_gradient[j];
    }
}

void classifier::layer::backward(const float* output_gradient, float* input_gradient) const {
    for (std::size_t i = 0; i < inputs; ++i) {
        const float* row = &weights[i * outputs];
        float sum = 0;
        for (std::size_t j = 0; j < outputs; ++j)
            sum += row[j] * output_gradient[j];
        input_gradient[i] = sum;
    }
}

void classifier::layer::step(float learning_rate, float batch_size) {
    for (std::size_t i = 0; i < weights.size(); ++i) {
        momentum[i] = momentum_kept * momentum[i] + gradient[i] / batch_size;
        weights[i] -= learning_rate * momentum[i];
        gradient[i] = 0;
    }
}

classifier::classifier(std::uint64_t seed)
    : first_(input_count, hidden_count),
      second_(hidden_count, class_count),
      input_(input_count),
      hidden_(hidden_count),
      output_(class_count) {
    std::mt19937_64 random{seed};
    for (layer* each : {&first_, &second_}) {
        std::normal_distribution<float> near_zero{
            0, std::sqrt(2.0F / static_cast<float>(each->inputs))};
        const std::size_t without_bias = each->inputs * each->outputs;
        for (std::size_t i = 0; i < without_bias; ++i)
            each->weights[i] = near_zero(random);
    }
}

score classifier::predict(const std::uint8_t* picture, std::int64_t label) {
    shrink(picture, input_.data());
    first_.forward(input_.data(), hidden_.data());
    for (float& value : hidden_)
        value = std::max(value, 0.0F);
    second_.forward(hidden_.data(), output_.data());
    const std::size_t guess = softmax(output_);
    const auto truth = static_cast<std::size_t>(label);
    return {-std::log(std::max(output_[truth], 1e-12F)), guess == truth ? 1U : 0U, 1};
}

score classifier::train(pictures batch, labels truth, float learning_rate) {
    score total;
    std::vector<float> hidden_gradient(hidden_count);
    for (std::size_t i = 0; i < truth.size(); ++i) {
        total += predict(batch[i].data(), truth[i]);
        output_[static_cast<std::size_t>(truth[i])] -= 1;  // now the gradient of the loss
        second_.accumulate(hidden_.data(), output_.data());
        second_.backward(output_.data(), hidden_gradient.data());
        for (std::size_t j = 0; j < hidden_count; ++j) {
            if (hidden_[j] == 0)
                hidden_gradient[j] = 0;
        }
        first_.accumulate(input_.data(), hidden_gradient.data());
    }
    for (layer* each : {&first_, &second_}) {
        each->step(learning_rate, static_cast<float>(truth.size()));
    }
    return total;
}

score classifier::evaluate(pictures batch, labels truth) {
    score total;
    for (std::size_t i = 0; i < truth.size(); ++i)
        total += predict(batch[i].data(), truth[i]);
    return total;
}

}  // namespace demo
