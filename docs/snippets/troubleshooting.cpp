// The code of docs/troubleshooting.md, run to see that it does what the page says.
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>

#include <stoker/stoker.hpp>

namespace asio = boost::asio;

namespace {

void expect(bool good, const char* what) {
    if (good)
        return;
    std::cerr << "not as the page says: " << what << '\n';
    std::exit(1);
}

struct digit {
    stoker::tensor<std::uint8_t, 8, 8> pixels;
    std::int64_t label;
};

struct digits {
    std::string path;
    std::size_t size() const { return 20; }
    digit get(stoker::index i) const { return {{}, static_cast<std::int64_t>(i)}; }
};

int kept = 0;

// [keep]
std::vector<std::int64_t> all_labels(auto& loader) {
    std::vector<std::int64_t> labels;                        // values, not batches
    while (auto batch = loader.next_blocking()) {
        auto column = batch[&digit::label];                  // the batch has a name: it lives on
        labels.insert(labels.end(), column.begin(), column.end());
    }
    return labels;
}
// [end]

// [callback]
void ask(auto& loader, asio::io_context& io) {
    loader.next(asio::bind_executor(
        io.get_executor(), [&](std::exception_ptr failure, stoker::batch<digit> batch) {
            if (failure || !batch)
                return;
            ++kept;
            ask(loader, io);                                 // one at a time
        }));
}
// [end]

// [forks]
int run_server() {
    stoker::fork_server forks;                               // first in main, before any thread
    std::thread other([] {});
    stoker::loader loader{
        forks.dataset([](std::string path) { return digits{path}; }, "digits.csv"),
        {.num_workers = 2, .name = "train"}};
    int batches = 0;
    for (auto& batch : loader)
        batches += batch.size() > 0 ? 1 : 0;
    other.join();
    return batches;
}
// [end]

// [patience]
auto patient(int workers) {
    return stoker::loader{digits{"digits.csv"},
                          {.num_workers = workers, .timeout = std::chrono::seconds(30)}};
}
// [end]

}  // namespace

int main() {
    expect(run_server() == 20, "a loader made when there are threads");
    stoker::loader loader{digits{"digits.csv"}, {.batch_size = 4, .num_workers = 2}};
    expect(all_labels(loader).size() == 20, "all labels, and no batch that is kept");
    asio::io_context io;
    ask(loader, io);
    io.run();
    expect(kept == 5, "callbacks that ask for the next batch");
    expect(patient(1).next_blocking().size() == 1, "a loader with a timeout");
}
