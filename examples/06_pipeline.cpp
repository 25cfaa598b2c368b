// Loading, preparing and training, each at its own pace: workers make batches, one actor makes
// floats of their bytes, another trains on them, and a bounded channel lies between the two. The
// actor layer is stoker's own runtime, useful without a loader too.
//
//     build/examples/06_pipeline
#include <cmath>
#include <cstdint>
#include <iostream>
#include <stdexcept>
#include <utility>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <stoker/runtime/channel.hpp>
#include <stoker/runtime/receiver.hpp>
#include <stoker/runtime/scope.hpp>
#include <stoker/runtime/sender.hpp>
#include <stoker/stoker.hpp>

namespace asio = boost::asio;

struct frame {
    stoker::tensor<std::uint8_t, 16, 16> pixels;
};

struct frames {
    std::size_t size() const { return 600; }
    frame get(stoker::index i, stoker::context& context) const {
        frame made;
        for (auto& pixel : made.pixels)
            pixel = std::uint8_t(context.random.integer(0, 256));
        made.pixels(0, 0) = std::uint8_t(i % 256);
        return made;
    }
};

using prepared = std::vector<float>;

// Owns the loader's side: the batch's memory goes back to the workers as soon as it is prepared.
asio::awaitable<void> prepare(stoker::loader<frames>& loader, stoker::sender<prepared> out) {
    while (auto batch = co_await loader.next()) {
        auto pixels = batch[&frame::pixels];
        prepared floats;
        floats.reserve(pixels.size());
        for (const auto pixel : pixels.elements())
            floats.push_back((float(pixel) - 127.5f) / 73.9f);
        batch = {};
        auto permit = co_await out.reserve();  // waits while the trainer is behind
        permit.send(std::move(floats));
    }
}  // the sender dies here, and the receiver sees the end

asio::awaitable<void> train(stoker::receiver<prepared>& in) {
    double sum = 0;
    double squares = 0;
    std::size_t values = 0;
    int steps = 0;
    while (auto floats = co_await in.receive()) {
        for (const float value : *floats) {
            sum += double(value);
            squares += double(value) * double(value);
        }
        values += floats->size();
        ++steps;
    }
    const double mean = sum / double(values);
    const double variance = squares / double(values) - mean * mean;
    std::cout << steps << " steps; normalised: " << std::boolalpha
              << (std::abs(mean) < 0.01 && std::abs(variance - 1) < 0.01) << '\n';
}

asio::awaitable<void> run(stoker::loader<frames>& loader) {
    auto [tx, rx] = stoker::channel<prepared>(co_await asio::this_coro::executor, 2);
    auto both = [&](stoker::scope& actors) -> asio::awaitable<void> {
        actors.spawn(prepare(loader, std::move(tx)));
        co_await train(rx);
    };
    co_await stoker::scoped(both);  // an error of either one ends both and arrives here
}

int main() try {
    stoker::loader loader{frames{}, {.batch_size = 50, .shuffle = true, .num_workers = 2}};
    asio::io_context io;
    asio::co_spawn(io, run(loader), stoker::rethrow);
    io.run();
} catch (const std::exception& failure) {
    std::cerr << failure.what() << '\n';
    return 1;
}

// Output:
// 12 steps; normalised: true
