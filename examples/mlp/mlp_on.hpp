#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <vector>

#include "jobs.hpp"
#include "mlp.hpp"

/// The perceptron on a processor, which gives memory, as long as it lives, and runs jobs one after
/// the other, each by as many threads as are asked for.
template <class Processor>
class mlp_on final : public mlp {
  public:
    mlp_on() {
        std::mt19937 bits(1);
        std::uniform_real_distribution<float> uniform(-1, 1);
        const auto draw = [&](std::vector<float>& weights, std::size_t row) {
            for (float& weight : weights)
                weight = uniform(bits) / std::sqrt(static_cast<float>(row));
        };
        std::vector<float> first(units * (pixels_each + 1));
        std::vector<float> second(classes * (units + 1));
        draw(first, pixels_each);
        draw(second, units);
        processor_.fill(first_, first);
        processor_.fill(second_, second);
    }

    CUstream_st* stream() const override { return processor_.stream(); }

    void train(const float* pixels, const std::int64_t* labels, std::size_t count) override {
        forward(pixels, count);
        processor_.run(jobs::softmax_gradient{scores_, labels, classes, count}, count);
        processor_.run(jobs::backward{scores_, second_, hidden_, gradients_, units, classes},
                       count * units);
        processor_.run(jobs::descend{hidden_, scores_, second_, units, classes, count, rate},
                       classes * (units + 1));
        processor_.run(jobs::descend{pixels, gradients_, first_, pixels_each, units, count, rate},
                       units * (pixels_each + 1));
    }

    void test(const float* pixels, const std::int64_t* labels, std::size_t count) override {
        forward(pixels, count);
        processor_.run(jobs::count_right{scores_, labels, right_, classes, count}, 1);
    }

    int right() const override { return *right_; }

  private:
    static constexpr std::size_t pixels_each = 64;
    static constexpr std::size_t units = 32;
    static constexpr std::size_t classes = 10;
    static constexpr std::size_t most_samples = 256;
    static constexpr float rate = 0.2f;

    void forward(const float* pixels, std::size_t count) {
        if (count > most_samples)
            throw std::length_error("a batch of more than 256 digits");
        processor_.run(jobs::forward{pixels, first_, hidden_, pixels_each, units, true},
                       count * units);
        processor_.run(jobs::forward{hidden_, second_, scores_, units, classes, false},
                       count * classes);
    }

    Processor processor_{};
    float* first_ = processor_.allocate(units * (pixels_each + 1));
    float* second_ = processor_.allocate(classes * (units + 1));
    float* hidden_ = processor_.allocate(most_samples * units);
    float* gradients_ = processor_.allocate(most_samples * units);
    float* scores_ = processor_.allocate(most_samples * classes);
    int* right_ = processor_.counter();
};
