// Validation beside training: one dataset split in two, two loaders with workers of their own, and
// only a part of the validation set looked at after each epoch.
//
//     build/examples/05_validation
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <stoker/stoker.hpp>

namespace asio = boost::asio;

struct point {
    float x;
    float y;
};

// Points of the line y = 3 x - 1.
std::vector<point> points() {
    std::vector<point> made;
    for (int i = 0; i < 1000; ++i)
        made.push_back({float(i) / 500 - 1, 3 * (float(i) / 500 - 1) - 1});
    return made;
}
point with_noise(point exact, stoker::context& context) {
    exact.y += float(context.random.normal()) * 0.1f;
    return exact;
}

struct line {
    float slope = 0;
    float offset = 0;
};

float squared_error(const line& model, const auto& batch) {
    float sum = 0;
    for (std::size_t i = 0; i < batch.size(); ++i) {
        const float miss = model.slope * batch[&point::x][i] + model.offset - batch[&point::y][i];
        sum += miss * miss;
    }
    return sum;
}

asio::awaitable<void> train(auto& training, auto& validation) {
    line model;
    for (int epoch = 0; epoch < 5; ++epoch) {
        while (auto batch = co_await training.next()) {
            auto [x, y] = batch.columns();
            for (std::size_t i = 0; i < batch.size(); ++i) {
                const float miss = model.slope * x[i] + model.offset - y[i];
                model.slope -= 0.05f * miss * x[i];
                model.offset -= 0.05f * miss;
            }
        }
        float error = 0;
        std::size_t seen = 0;
        for (int i = 0; i < 3; ++i) {  // three batches are enough to see where it goes
            auto batch = co_await validation.next();
            if (!batch)
                break;
            error += squared_error(model, batch);
            seen += batch.size();
        }
        validation.restart();  // or the next evaluation would go on with the fourth batch
        std::cout << "epoch " << epoch << ", " << seen << " held-out points, root mean square "
                  << (std::sqrt(error / float(seen)) < 0.1f ? "below 0.1" : "above 0.1") << '\n';
    }
    std::printf("y = %.1f x %+.1f\n", double(model.slope), double(model.offset));
}

int main() try {
    auto [train_set, held_out] = stoker::random_split(points(), {0.8, 0.2}, 7);
    stoker::loader training{std::move(train_set) | stoker::map(with_noise),
                            {.batch_size = 64, .shuffle = true, .num_workers = 2}};
    stoker::loader validation{std::move(held_out), {.batch_size = 50, .num_workers = 1}};
    asio::io_context io;
    asio::co_spawn(io, train(training, validation), stoker::rethrow);
    io.run();
} catch (const stoker::error& failure) {
    std::cerr << failure.what() << '\n';
    return 1;
}

// Output:
// epoch 0, 150 held-out points, root mean square below 0.1
// epoch 1, 150 held-out points, root mean square below 0.1
// epoch 2, 150 held-out points, root mean square below 0.1
// epoch 3, 150 held-out points, root mean square below 0.1
// epoch 4, 150 held-out points, root mean square below 0.1
// y = 3.0 x -1.0
