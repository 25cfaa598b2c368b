// LibTorch trains a small convolutional network on a device feed's batches where they lie: DLPack
// lends their memory, so that nothing is copied, and a tensor that dies gives it back. On a GPU
// where stoker and LibTorch both have one, on the host otherwise. Built where LibTorch is found:
// apt-get install libtorch-dev, or -Dlibtorch_path=FOLDER with its include/ and lib/.
//
//     build/examples/12_libtorch build/examples/digits.csv
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <stdexcept>
#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <ATen/DLConvertor.h>
#include <torch/torch.h>

#include <stoker/device/dlpack.hpp>
#include <stoker/stoker.hpp>

#include "read_digits.hpp"

namespace asio = boost::asio;
namespace nn = torch::nn;

struct device_digit {
    stoker::tensor<float, 1, 8, 8> pixels;  // channels first, as LibTorch has them
    std::int64_t label;
};
using feed_type = stoker::device_feed<digit, device_digit>;
using batch_type = stoker::device_batch<device_digit>;

torch::Tensor tensor_of(stoker::dlpack_tensor lent) {
    auto old = stoker::to_unversioned(std::move(lent));  // which every LibTorch knows
    return at::fromDLPack(reinterpret_cast<DLManagedTensor*>(old.release()));
}

struct tensors {
    torch::Tensor pixels;  // [n, 1, 8, 8], float
    torch::Tensor label;   // [n], std::int64_t
};

/// LibTorch works on the default stream unless it is told otherwise: that one waits for the batch.
tensors take(batch_type batch) {
    const auto on = batch.on(nullptr);
    const void* const pixels_lie = on[&device_digit::pixels].data();
    const void* const labels_lie = on[&device_digit::label].data();
    auto [pixels, label] =
        stoker::to_dlpack(std::move(batch), nullptr, &device_digit::pixels, &device_digit::label);
    tensors made{tensor_of(std::move(pixels)), tensor_of(std::move(label))};
    if (made.pixels.data_ptr() != pixels_lie || made.label.data_ptr() != labels_lie)
        throw std::logic_error("a tensor is not where its batch is");
    return made;
}

struct trainer {
    nn::Sequential network{nn::Conv2d(nn::Conv2dOptions(1, 16, 3).padding(1)),
                           nn::ReLU(),
                           nn::Conv2d(nn::Conv2dOptions(16, 32, 3).padding(1)),
                           nn::ReLU(),
                           nn::MaxPool2d(2),
                           nn::Flatten(),
                           nn::Linear(512, 10)};
    torch::optim::Adam optimizer{network->parameters(), torch::optim::AdamOptions(2e-3)};
    std::int64_t right = 0;
    std::size_t borrowed = 0;

    void learn(batch_type batch) {
        const tensors given = take(std::move(batch));
        optimizer.zero_grad();
        torch::cross_entropy_loss(network->forward(given.pixels), given.label).backward();
        optimizer.step();
        borrowed += 2;
    }
    void test(batch_type batch) {
        const torch::NoGradGuard no_gradients;
        const tensors given = take(std::move(batch));
        const torch::Tensor best = network->forward(given.pixels).argmax(1);
        right += best.eq(given.label).sum().item<std::int64_t>();
        borrowed += 2;
    }
};

asio::awaitable<void> train(feed_type& training, feed_type& testing, trainer& model) {
    for (int epoch = 0; epoch < 6; ++epoch) {
        while (auto batch = co_await training.next())
            model.learn(std::move(batch));
    }
    while (auto batch = co_await testing.next())
        model.test(std::move(batch));
    std::clog << model.right << " of " << testing.size() << " held-out digits told right\n";
    std::cout << "at least 95 % of them right: " << std::boolalpha
              << (double(model.right) >= 0.95 * double(testing.size())) << '\n'
              << model.borrowed << " tensors, each at its batch's own address\n";
}

int main(int count, char** arguments) try {
    if (count != 2)
        throw std::runtime_error("usage: 12_libtorch DIGITS.csv");
    // Loaders first, which fork: LibTorch and CUDA start threads.
    auto [known, held_out] = stoker::random_split(read_digits(arguments[1]), {0.8, 0.2}, 1);
    stoker::loader train_loader{std::move(known),
                                {.batch_size = 64, .shuffle = true, .num_workers = 2, .epochs = 6}};
    stoker::loader test_loader{std::move(held_out), {.batch_size = 64, .num_workers = 1}};

    torch::manual_seed(1);
    trainer model;
    const bool gpu = torch::cuda::is_available() && stoker::cuda_device_count() > 0;
    if (gpu)
        model.network->to(torch::kCUDA);
    const stoker::device where = gpu ? stoker::cuda_device(0) : stoker::host_device();
    std::clog << "LibTorch " << TORCH_VERSION << ", batches on " << where.name() << '\n';
    const auto floats = stoker::prepare(&digit::pixels, &device_digit::pixels,
                                        stoker::normalize{{0.019f}, {0.024f}});
    stoker::device_feed training{std::move(train_loader), where, floats};
    stoker::device_feed testing{std::move(test_loader), where, floats};

    asio::io_context io;
    asio::co_spawn(io, train(training, testing, model), stoker::rethrow);
    io.run();
} catch (const std::exception& failure) {
    std::cerr << failure.what() << '\n';
    return 1;
}

// Output:
// at least 95 % of them right: true
// 288 tensors, each at its batch's own address
