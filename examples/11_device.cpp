// Training on a GPU: workers hold bytes ready, a device feed takes them there on a stream of its
// own and makes floats of them, and kernels of this program's own (mlp/) learn from them on another
// stream. Where there is no GPU the same program runs on the host, and says so.
//
//     build/examples/11_device build/examples/digits.csv
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <stoker/stoker.hpp>

#include "mlp/mlp.hpp"
#include "read_digits.hpp"

namespace asio = boost::asio;

// What kernels see of a digit. Only bytes cross the bus: a quarter of what floats would be.
struct device_digit {
    stoker::tensor<float, 8, 8> pixels;
    std::int64_t label;
};

using feed_type = stoker::device_feed<digit, device_digit>;

asio::awaitable<void> train(feed_type& training, feed_type& testing, mlp& model) {
    for (int epoch = 0; epoch < 20; ++epoch) {
        while (auto batch = co_await training.next()) {  // it may be on its way still …
            auto on = batch.on(model.stream());          // … for which the stream waits, not we
            model.train(on[&device_digit::pixels].data(), on[&device_digit::label].data(),
                        batch.size());
        }  // its memory is written again when the stream has got here
    }
    while (auto batch = co_await testing.next()) {
        auto on = batch.on(model.stream());
        model.test(on[&device_digit::pixels].data(), on[&device_digit::label].data(), batch.size());
    }
    co_await testing.completed(model.stream());  // blocks no thread
    const double share = model.right() / double(testing.size());
    std::clog << model.right() << " of " << testing.size() << " held-out digits told right\n";
    std::cout << "at least 95 % of them right: " << std::boolalpha << (share >= 0.95) << '\n';
}

stoker::device find_device() {
    try {
        return stoker::cuda_device(0);
    } catch (const stoker::error& failure) {
        std::clog << "on the host: " << failure.what() << '\n';
        return stoker::host_device();
    }
}

int main(int count, char** arguments) try {
    if (count != 2)
        throw std::runtime_error("usage: 11_device DIGITS.csv");
    // Loaders first, which fork: CUDA starts threads.
    auto [known, held_out] = stoker::random_split(read_digits(arguments[1]), {0.8, 0.2}, 1);
    stoker::loader train_loader{
        std::move(known), {.batch_size = 64, .shuffle = true, .num_workers = 2, .epochs = 20}};
    stoker::loader test_loader{std::move(held_out), {.batch_size = 64, .num_workers = 1}};

    const stoker::device where = find_device();
    const auto model = where.is_host() ? make_mlp_on_host() : make_mlp_on_gpu();
    const auto floats = stoker::prepare(&digit::pixels, &device_digit::pixels,
                                        stoker::normalize{{0.019f}, {0.024f}});
    stoker::device_feed training{std::move(train_loader), where, floats};
    stoker::device_feed testing{std::move(test_loader), where, floats};

    asio::io_context io;
    asio::co_spawn(io, train(training, testing, *model), stoker::rethrow);
    io.run();
    const stoker::feed_stats sent = training.stats();
    std::cout << sent.batches << " batches in " << sent.copies << " copies, "
              << sent.copied_bytes / (20 * training.size()) << " bytes a digit\n";
} catch (const std::exception& failure) {
    std::cerr << failure.what() << '\n';
    return 1;
}

// Output:
// at least 95 % of them right: true
// 460 batches in 460 copies, 72 bytes a digit
