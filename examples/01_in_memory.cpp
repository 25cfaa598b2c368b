// A vector is a dataset. Real digits are held in memory, shuffled anew each epoch, and two epochs
// of them train and test a classifier that knows the mean picture of each digit.
//
//     build/examples/01_in_memory build/examples/digits.csv
#include <array>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <stoker/stoker.hpp>

namespace asio = boost::asio;

// A sample is a plain struct; its members become the columns of a batch.
struct digit {
    stoker::tensor<std::uint8_t, 8, 8> pixels;
    std::int64_t label;
};

std::vector<digit> read_digits(const std::string& path) {
    std::ifstream file(path);
    std::vector<digit> digits;
    for (std::string line; std::getline(file, line);) {
        digit one{};
        std::istringstream numbers(line);
        std::string number;
        for (std::size_t i = 0; i < 64 && std::getline(numbers, number, ','); ++i)
            one.pixels.data()[i] = static_cast<std::uint8_t>(std::stoi(number));
        numbers >> one.label;
        digits.push_back(one);
    }
    if (digits.empty())
        throw std::runtime_error(path + ": no digits there (build/examples/digits.csv has some)");
    return digits;
}

struct mean_pictures {
    std::array<std::array<std::int64_t, 64>, 10> sums{};
    std::array<std::int64_t, 10> counts{};

    void learn(const std::uint8_t* pixels, std::size_t label) {
        for (std::size_t i = 0; i < 64; ++i)
            sums[label][i] += pixels[i];
        ++counts[label];
    }
    std::size_t guess(const std::uint8_t* pixels) const {
        std::size_t best = 0;
        double least = 1e300;
        for (std::size_t label = 0; label < 10; ++label) {
            double distance = 0;
            for (std::size_t i = 0; i < 64; ++i) {
                const double mean = double(sums[label][i]) / double(counts[label]);
                distance += (pixels[i] - mean) * (pixels[i] - mean);
            }
            if (distance < least) {
                least = distance;
                best = label;
            }
        }
        return best;
    }
};

asio::awaitable<void> train(stoker::loader<std::vector<digit>>& loader) {
    mean_pictures model;
    while (auto batch = co_await loader.next()) {  // false at the end of the epoch
        auto pixels = batch[&digit::pixels];       // [n, 8, 8]
        auto label = batch[&digit::label];         // [n]
        for (std::size_t i = 0; i < batch.size(); ++i)
            model.learn(&pixels(i, 0, 0), std::size_t(label[i]));
    }
    std::size_t right = 0;
    while (auto batch = co_await loader.next()) {  // the next epoch, in another order
        auto [pixels, label] = batch.columns();
        for (std::size_t i = 0; i < batch.size(); ++i)
            right += model.guess(&pixels(i, 0, 0)) == std::size_t(label[i]);
    }
    std::cout << right << " of " << loader.size() << " digits told right by their mean picture\n";
}

int main(int count, char** arguments) try {
    if (count != 2)
        throw std::runtime_error("usage: 01_in_memory DIGITS.csv");
    stoker::loader loader{read_digits(arguments[1]),
                          {.batch_size = 64, .shuffle = true, .num_workers = 2, .epochs = 2}};
    asio::io_context io;
    asio::co_spawn(io, train(loader), stoker::rethrow);
    io.run();
} catch (const std::exception& failure) {  // a stoker::error's text says what failed, and a remedy
    std::cerr << failure.what() << '\n';
    return 1;
}

// Output:
// 1626 of 1797 digits told right by their mean picture
