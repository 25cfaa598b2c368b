// The code of docs/choosing-num-workers.md, run to see that it does what the page says.
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include <stoker/stoker.hpp>

namespace {

void expect(bool good, const char* what) {
    if (good)
        return;
    std::cerr << "not as the page says: " << what << '\n';
    std::exit(1);
}

struct picture {
    stoker::tensor<float, 32, 32> pixels;
    std::int64_t label;
};

struct pictures {
    std::size_t size() const { return 256; }
    picture get(stoker::index i) const {
        picture made{{}, static_cast<std::int64_t>(i)};
        for (std::size_t y = 0; y < 32; ++y) {
            for (std::size_t x = 0; x < 32; ++x)
                made.pixels(y, x) = std::sin(static_cast<float>(x * y + i));
        }
        return made;
    }
};

// [sweep]
auto sweep_workers() {
    return stoker::sweep(
        [](stoker::loader_options options) {
            options.batch_size = 32;
            options.shuffle = true;
            return stoker::loader{pictures{}, options};
        },
        {.num_workers = {0, 2, 4, 8}});
}
// [end]

void step(auto&) {}

// [waiting]
double share_of_waiting(auto& loader) {
    using clock = std::chrono::steady_clock;
    clock::duration waiting{};
    const auto begin = clock::now();
    for (auto asked = clock::now();; asked = clock::now()) {
        auto batch = loader.next_blocking();
        waiting += clock::now() - asked;
        if (!batch)
            return std::chrono::duration<double>(waiting) / (clock::now() - begin);
        step(batch);
    }
}
// [end]

// [memory]
std::string memory_of(int workers, int prefetch) {
    stoker::loader loader{pictures{}, {.batch_size = 32,
                                       .num_workers = workers,
                                       .prefetch_factor = prefetch}};
    return loader.memory().text();
}
// [end]

// [lazy]
class lazy_pictures {
  public:
    explicit lazy_pictures(std::vector<std::string> paths) : paths_(std::move(paths)) {}
    std::size_t size() const { return paths_.size(); }
    picture get(stoker::index i) const {                     // reads one file, in a worker
        std::ifstream file(paths_[i], std::ios::binary);
        picture made{};
        file.read(reinterpret_cast<char*>(made.pixels.data()), 32 * 32 * sizeof(float));
        return made;
    }

  private:
    std::vector<std::string> paths_;                         // all that it holds
};
// [end]

}  // namespace

int main() {
    const auto result = sweep_workers();
    expect(result.rows.size() == 4, "a row for each number of workers");
    expect(result.table().find("<- elbow") != std::string::npos, "a table that marks the elbow");
    expect(result.paste().find(".shuffle = true, .num_workers = ") != std::string::npos,
           "settings to paste");

    stoker::loader loader{pictures{}, {.batch_size = 32, .num_workers = 2}};
    const double share = share_of_waiting(loader);
    expect(share > 0 && share <= 1, "a share");

    expect(memory_of(4, 2).starts_with("10 slots"), "slots for all tasks, and two");
    expect(memory_of(4, 2).find("4 workers") != std::string::npos, "the workers' own memory");
    expect(memory_of(4, 8).starts_with("34 slots"), "more for more prefetched batches");

    stoker::loader lazy{lazy_pictures{{"/dev/zero", "/dev/zero"}}, {.num_workers = 1}};
    expect(lazy.next_blocking().size() == 1, "a file read in a worker");
}
