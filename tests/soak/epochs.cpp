// Many short epochs on a machine that has four times more to do than processors: every hand-over
// between processes then meets a side that has just lost its processor.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <thread>
#include <vector>

#include <stoker/stoker.hpp>
#include "support/catch.hpp"
#include "support/leaks.hpp"

namespace {

/// Processes that do nothing but take processor time, while it lives.
class busy_neighbours {
  public:
    explicit busy_neighbours(unsigned count) {
        for (unsigned i = 0; i < count; ++i) {
            const pid_t child = ::fork();
            if (child == 0) {
                ::alarm(600);
                for (volatile std::uint64_t turns = 0;;)
                    turns = turns + 1;
            }
            children_.push_back(child);
        }
    }
    ~busy_neighbours() {
        for (const pid_t child : children_) {
            ::kill(child, SIGKILL);
            ::waitpid(child, nullptr, 0);
        }
    }
    busy_neighbours(const busy_neighbours&) = delete;
    busy_neighbours& operator=(const busy_neighbours&) = delete;

  private:
    std::vector<pid_t> children_;
};

std::int64_t read_epoch(auto& loader) {
    std::int64_t sum = 0;
    while (auto batch = loader.next_blocking()) {
        auto [value] = batch.columns();
        for (const auto each : value)
            sum += each;
    }
    return sum;
}

}  // namespace

TEST_CASE("500 epochs of 20 items end on an oversubscribed machine", "[soak][B006]") {
    std::vector<std::int64_t> items;
    for (std::int64_t i = 0; i < 20; ++i)
        items.push_back(i);
    const busy_neighbours neighbours(4 * std::max(1U, std::thread::hardware_concurrency()));
    for (const bool persistent : {true, false}) {
        stoker::loader loader{
            items,
            {.batch_size = 3, .shuffle = true, .num_workers = 4, .persistent_workers = persistent}};
        for (int epoch = 0; epoch < (persistent ? 500 : 100); ++epoch) {
            REQUIRE(read_epoch(loader) == 190);
        }
    }
}
