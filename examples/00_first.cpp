#include <boost/asio.hpp>
#include <iostream>
#include <stoker/stoker.hpp>

struct digit { stoker::tensor<std::uint8_t, 8, 8> pixels; std::int64_t label; };
boost::asio::awaitable<void> train(auto& loader) {
    while (auto batch = co_await loader.next()) {  // false at the end of the epoch
        auto [pixels, label] = batch.columns();    // views [4, 8, 8] and [4], typed, not copied
        std::cout << pixels.extent(0) << " digits, the first is a " << label[0] << '\n';
    }
}
int main() {  // a dataset is a range like this one, or a class with size() and get(index)
    std::vector<digit> digits{{{}, 3}, {{}, 1}, {{}, 4}, {{}, 1}, {{}, 5}, {{}, 9}, {{}, 2}};
    stoker::loader loader{digits, {.batch_size = 4, .shuffle = true, .num_workers = 2}};
    boost::asio::io_context io;
    boost::asio::co_spawn(io, train(loader), stoker::rethrow);
    io.run();
}

// Output:
// 4 digits, the first is a 3
// 3 digits, the first is a 9
