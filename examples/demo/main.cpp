// Trains a small model on real digits. Worker processes enlarge, turn, scale and shift each digit;
// the training loop awaits batches of them. Then a sweep tells how many workers this is worth.

#include <cstdio>
#include <exception>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <stoker/stoker.hpp>

#include "arguments.hpp"
#include "classifier.hpp"
#include "digits.hpp"
#include "enlarge.hpp"
#include "progress.hpp"

namespace asio = boost::asio;

namespace demo {
namespace {

constexpr double wanted_accuracy = 0.95;
constexpr float first_learning_rate = 0.1F;

/// Full at first, none at the end.
float learning_rate(int epoch, int epochs) {
    return first_learning_rate * (1 - static_cast<float>(epoch) / static_cast<float>(epochs));
}

asio::awaitable<void> train(auto& loader, auto& held_out, classifier& model, progress& shown,
                            score& result) {
    const int epochs = loader.options().epochs;
    for (int epoch = 0; epoch < epochs; ++epoch) {
        shown.ask();
        while (auto batch = co_await loader.next()) {
            shown.got();
            auto [pixels, label] = batch.columns();
            shown.trained(model.train(pixels, label, learning_rate(epoch, epochs)));
            shown.ask();
        }
        shown.got();
        result = {};
        while (auto batch = co_await held_out.next()) {
            auto [pixels, label] = batch.columns();
            result += model.evaluate(pixels, label);
        }
        shown.end_of_epoch(result);
    }
}

score train_model(const std::vector<digit>& training, const std::vector<digit>& held_out,
                  const arguments& given) {
    stoker::loader loader{training | stoker::map(enlarge_at_random),
                          {.batch_size = 64,
                           .shuffle = true,
                           .num_workers = given.num_workers,
                           .seed = given.seed,
                           .epochs = given.epochs}};
    stoker::loader validation{
        held_out | stoker::map(enlarge),
        {.batch_size = 256, .num_workers = given.num_workers > 0 ? 1 : 0, .epochs = given.epochs}};
    std::printf("loader: %s\n", loader.memory().text().c_str());
    classifier model{given.seed};
    progress shown{given.epochs, training.size()};
    score result;
    asio::io_context io;
    asio::co_spawn(io, train(loader, validation, model, shown, result), stoker::rethrow);
    io.run();
    return result;
}

void measure_workers(const std::vector<digit>& training, const arguments& given) {
    std::printf("\npure iteration over the training set, median of epochs:\n");
    const auto result = stoker::sweep(
        [&](stoker::loader_options options) {
            options.batch_size = 64;
            options.shuffle = true;
            options.seed = given.seed;
            return stoker::loader{training | stoker::map(enlarge_at_random), options};
        },
        {.num_workers = {0, 1, 2, 4, 8}, .repeats = 15});
    std::printf("%ssettings: %s\n", result.table().c_str(), result.paste().c_str());
}

int run(const arguments& given) {
    const auto [training, held_out] = split(read_digits(given.data), given.seed);
    std::printf("%zu digits to train on, %zu held out\n", training.size(), held_out.size());
    const score result = train_model(training, held_out, given);
    std::printf("held-out digits told right: %.1f %% (wanted: %.0f %%)\n", 100 * result.accuracy(),
                100 * wanted_accuracy);
    if (given.sweep)
        measure_workers(training, given);
    return result.accuracy() >= wanted_accuracy ? 0 : 1;
}

}  // namespace
}  // namespace demo

int main(int count, char** values) try {
    const auto given = demo::parse_arguments(count, values);
    if (!given) {
        std::fputs(demo::usage, stdout);
        return 0;
    }
    return demo::run(*given);
} catch (const std::exception& error) {
    std::fprintf(stderr, "demo: %s\n", error.what());
    return 2;
}
