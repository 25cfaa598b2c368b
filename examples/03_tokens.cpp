// Language modelling: windows of tokens out of a mapped file, endless, straight into the memory of
// the batch. Here a token is a byte of this text, the model a table of which byte follows which.
//
//     build/examples/03_tokens LICENSE
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/interprocess/file_mapping.hpp>
#include <boost/interprocess/mapped_region.hpp>

#include <stoker/stoker.hpp>

namespace asio = boost::asio;
namespace interprocess = boost::interprocess;

constexpr std::size_t window = 64;

struct tokens {
    stoker::tensor<std::uint8_t, window> input;
    stoker::tensor<std::uint8_t, window> target;  // the input, one further
};

// `read` in place of `get`: the dataset writes into the batch, and no sample is copied. Workers
// share the mapped file with this process.
class token_windows {
  public:
    explicit token_windows(const char* path)
        : file_(std::make_shared<interprocess::mapped_region>(
              interprocess::file_mapping(path, interprocess::read_only), interprocess::read_only)) {
        if (file_->get_size() <= window)
            throw std::runtime_error(std::string(path) + " is shorter than a window and a token");
    }
    std::size_t size() const { return (file_->get_size() - 1) / window; }
    void read(stoker::index i, stoker::row<tokens> row) const {
        const auto* start = static_cast<const std::uint8_t*>(file_->get_address()) + i * window;
        std::memcpy(row[&tokens::input].data(), start, window);
        std::memcpy(row[&tokens::target].data(), start + 1, window);
    }

  private:
    std::shared_ptr<interprocess::mapped_region> file_;
};

using count_table = std::array<std::array<double, 256>, 256>;

asio::awaitable<void> train(stoker::loader<token_windows>& loader, int steps) {
    auto follows = std::make_unique<count_table>();
    double first = 0;
    double last = 0;
    for (int step = 0; step < steps; ++step) {
        auto batch = co_await loader.next();  // endless: never false
        auto [input, target] = batch.columns();
        double loss = 0;
        for (std::size_t i = 0; i < input.size(); ++i) {
            auto& row = (*follows)[input.data()[i]];
            double total = 256;
            for (const double count : row)
                total += count;
            loss -= std::log2((row[target.data()[i]] + 1) / total);
            row[target.data()[i]] += 1;
        }
        (step == 0 ? first : last) = loss / double(input.size());
    }
    std::cout << steps << " steps of " << 8 * window << " tokens\n"
              << "bits a token fell by more than 2: " << std::boolalpha << (first - last > 2)
              << '\n';
}

int main(int count, char** arguments) try {
    if (count != 2)
        throw std::runtime_error("usage: 03_tokens TEXT");
    stoker::loader loader{
        token_windows{arguments[1]},
        {.batch_size = 8, .shuffle = true, .num_workers = 2, .epochs = stoker::endless}};
    asio::io_context io;
    asio::co_spawn(io, train(loader, 300), stoker::rethrow);
    io.run();
} catch (const std::exception& failure) {
    std::cerr << failure.what() << '\n';
    return 1;
}

// Output:
// 300 steps of 512 tokens
// bits a token fell by more than 2: true
