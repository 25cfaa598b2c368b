// A dataset's pages are shared by all workers: what it costs is measured over all processes, each
// page counted once (proportional set size).

#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <stoker/stoker.hpp>
#include "support/catch.hpp"

namespace {

constexpr std::size_t sample_bytes = 4096;
constexpr std::size_t samples = (std::size_t{1} << 30) / sample_bytes;

struct block {
    stoker::tensor<std::uint8_t, sample_bytes> bytes;
};

/// 1 GiB in memory.
struct blocks {
    std::vector<std::uint8_t> all;
    std::size_t size() const { return all.size() / sample_bytes; }
    void read(stoker::index i, stoker::row<block> row) const {
        const std::uint8_t* from = all.data() + i * sample_bytes;
        std::copy(from, from + sample_bytes, row[&block::bytes].data());
    }
};

std::uint64_t proportional_bytes(pid_t process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/smaps_rollup");
    for (std::string line; std::getline(file, line);) {
        if (line.rfind("Pss:", 0) != 0)
            continue;
        std::istringstream words(line.substr(4));
        std::uint64_t kilobytes = 0;
        words >> kilobytes;
        return kilobytes << 10;
    }
    return 0;
}

std::uint64_t page_table_bytes(pid_t process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/status");
    for (std::string line; std::getline(file, line);) {
        if (line.rfind("VmPTE:", 0) == 0)
            return std::stoull(line.substr(6)) << 10;
    }
    return 0;
}

double mebibytes(std::uint64_t bytes) {
    return static_cast<double>(bytes) / (1 << 20);
}

}  // namespace

TEST_CASE("a dataset of 1 GiB with 4 workers costs 1 GiB, and memory() says the rest", "[soak]") {
    const std::uint64_t before = proportional_bytes(::getpid());
    stoker::loader loader{blocks{std::vector<std::uint8_t>(samples * sample_bytes, 7)},
                          {.batch_size = 256, .shuffle = true, .num_workers = 4}};
    const stoker::memory_use promised = loader.memory();
    std::uint64_t sum = 0;
    for (auto& batch : loader) {
        sum += batch[&block::bytes](0, 0);
    }
    CHECK(sum == samples / 256 * 7);
    std::uint64_t used = proportional_bytes(::getpid()) - before;
    std::uint64_t tables = 0;
    auto processes = loader.worker_processes();
    REQUIRE(processes.size() == 4);
    processes.push_back(loader.fork_server_process());
    for (const pid_t process : processes) {
        used += proportional_bytes(process);
        tables += page_table_bytes(process);
    }
    const std::uint64_t dataset = samples * sample_bytes;
    std::cout << "dataset " << mebibytes(dataset) << " MiB; all processes together "
              << mebibytes(used) << " MiB and page tables " << mebibytes(tables)
              << " MiB\nmemory() had said: " << promised.text() << '\n';
    CHECK(used > dataset);
    CHECK(used < dataset + promised.total_bytes);
    CHECK(used + tables > dataset + promised.total_bytes / 2);
    CHECK(used + tables < dataset + promised.total_bytes * 3 / 2);
}

namespace {

std::uint64_t own_bytes(pid_t process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/smaps_rollup");
    for (std::string line; std::getline(file, line);) {
        if (line.rfind("Pss_Anon:", 0) == 0)
            return std::stoull(line.substr(9)) << 10;
    }
    return 0;
}

constexpr std::size_t names_in_index = 200'000;

/// An index of file names, as large ones are.
struct file_names {
    std::vector<std::string> all;
    std::size_t size() const { return all.size(); }
    std::int64_t get(stoker::index i) const { return static_cast<std::int64_t>(all[i].size()); }
};

file_names make_file_names() {
    file_names made;
    for (std::size_t i = 0; i < names_in_index; ++i)
        made.all.push_back("train/images/of/some/length/" + std::to_string(i) + ".jpeg");
    return made;
}

template <class Loader>
std::uint64_t read_epoch_and_weigh(Loader& source) {
    std::uint64_t sum = 0;
    for (auto& batch : source)
        sum += batch.size();
    CHECK(sum == names_in_index);
    std::uint64_t bytes = own_bytes(::getpid()) + own_bytes(source.fork_server_process());
    for (const pid_t process : source.worker_processes())
        bytes += own_bytes(process);
    return bytes;
}

}  // namespace

TEST_CASE("an index of many strings costs the same for any number of workers and epochs",
          "[soak][B169]") {
    const auto names = std::make_shared<const file_names>(make_file_names());
    std::uint64_t with_one = 0;
    for (const int workers : {1, 4, 16}) {
        for (const bool persistent : {true, false}) {
            stoker::loader source{names,
                                  {.batch_size = 1000,
                                   .shuffle = true,
                                   .num_workers = workers,
                                   .persistent_workers = persistent}};
            const std::uint64_t first = read_epoch_and_weigh(source);
            std::uint64_t last = 0;
            for (int epoch = 1; epoch < 4; ++epoch)
                last = read_epoch_and_weigh(source);
            std::cout << workers << " workers: " << mebibytes(first) << " MiB after one epoch, "
                      << mebibytes(last) << " MiB after four\n";
            if (with_one == 0)
                with_one = first;
            // A worker's own memory is some hundred kilobytes; the index is 20 MiB.
            CHECK(first < with_one + (std::uint64_t{2} << 20) * static_cast<unsigned>(workers));
            CHECK(last < first + (std::uint64_t{4} << 20));
        }
    }
    CHECK(with_one > std::uint64_t{15} << 20);
}
