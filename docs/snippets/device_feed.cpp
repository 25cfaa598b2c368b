// The code about device feeds on the pages, run on the host device to see that it does what they
// say.
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <stoker/device/borrowed_tensor.hpp>
#include <stoker/device/dlpack.hpp>
#include <stoker/stoker.hpp>

namespace asio = boost::asio;

namespace {

void expect(bool good, const char* what) {
    if (good)
        return;
    std::cerr << "not as the page says: " << what << '\n';
    std::exit(1);
}

struct image {
    stoker::tensor<std::uint8_t, 40, 40, 3> pixels;
    std::int64_t label;
    std::int32_t top, left;
    bool flipped;
};

struct images {
    std::size_t size() const { return 1000; }
    image get(stoker::index i, stoker::context& context) const {
        image made{};
        made.pixels.fill(static_cast<std::uint8_t>(i % 256));
        made.label = static_cast<std::int64_t>(i);
        made.top = context.random.integer(0, 9);
        made.left = context.random.integer(0, 9);
        made.flipped = context.random.coin(0.5);
        return made;
    }
};

int steps = 0;
std::int64_t labels = 0;

void step(const stoker::f16* pixels, const std::int64_t* label, std::size_t count, CUstream_st*) {
    ++steps;
    for (std::size_t i = 0; i < count; ++i)
        labels += label[i];
    expect(pixels != nullptr, "pixels are there");
}

// [prepare]
struct device_image {                                          // what kernels see
    stoker::tensor<stoker::f16, 3, 32, 32> pixels;
    std::int64_t label;
};
auto augment() {                                               // one kernel does all of it
    return stoker::prepare(
        &image::pixels, &device_image::pixels,
        stoker::normalize{{0.485f, 0.456f, 0.406f}, {0.229f, 0.224f, 0.225f}},
        stoker::crop{&image::top, &image::left},               // drawn by the workers
        stoker::horizontal_flip{&image::flipped});
}
// [end]

// [loop]
asio::awaitable<void> train(auto& feed, CUstream_st* compute) {
    while (auto batch = co_await feed.next()) {                // its copy is under way
        auto on = batch.on(compute);                           // wait_stream: no thread waits
        step(on[&device_image::pixels].data(), on[&device_image::label].data(), batch.size(),
             compute);
    }                                                          // record_stream, and free again
    co_await feed.completed(compute);                          // synchronize, blocking no thread
}
// [end]

// [lend]
auto lend(auto& feed, CUstream_st* reader) {                   // __dlpack__(stream=reader)
    return stoker::to_dlpack(feed.next_blocking(), reader, &device_image::pixels,
                             &device_image::label);
}
// [end]

}  // namespace

// [main]
void train_somewhere(CUstream_st* compute) {
    stoker::loader loader{images{}, {.batch_size = 64, .shuffle = true, .num_workers = 2}};
    const stoker::device where =                               // after loaders: CUDA has threads
        stoker::cuda_device_count() > 0 ? stoker::cuda_device(0) : stoker::host_device();
    stoker::device_feed feed{std::move(loader), where, {.depth = 2}, augment()};
    asio::io_context io;
    asio::co_spawn(io, train(feed, compute), stoker::rethrow);
    io.run();
    std::cout << feed.stats().text() << '\n';                  // pinned how, copied how much
}
// [end]

int main() {
    if (stoker::cuda_device_count() > 0) {
        std::cout << "skipped: step() here reads what a GPU would have\n";
        return 77;
    }
    train_somewhere(nullptr);
    expect(steps == 16 && labels == 999 * 500, "every sample of an epoch");

    stoker::loader loader{images{}, {.batch_size = 8}};
    stoker::device_feed feed{std::move(loader), stoker::host_device(), augment()};
    auto lent = lend(feed, nullptr);
    const void* const lies = lent[1]->tensor.data;
    const stoker::borrowed_tensor<stoker::tensor_view<std::int64_t, stoker::dynamic>> label(
        std::move(lent[1]));
    expect(label.view().data() == lies && label.view()[7] == 7, "labels are lent");
}
