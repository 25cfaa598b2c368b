// Random kills at random instants: of the training process, of fork servers, of workers. After each
// nothing may be left, and what can be recovered from must not cost a sample.

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <stoker/stoker.hpp>
#include "support/catch.hpp"
#include "support/leaks.hpp"

using namespace stoker::test_support;

namespace {

constexpr std::size_t sample_count = 600;

struct drawn_numbers {
    std::size_t size() const { return sample_count; }
    std::uint64_t get(stoker::index i, stoker::context& c) const {
        if (c.random.integer(0, 40) == 0)
            std::this_thread::sleep_for(std::chrono::microseconds(200));
        return i * 1'000'003 + c.random() % 1'000;
    }
};

stoker::loader_options options_for(int workers) {
    stoker::loader_options options{};
    options.batch_size = 4;
    options.shuffle = true;
    options.num_workers = workers;
    options.seed = 5;
    options.max_restarts = 1'000'000;
    return options;
}

std::uint64_t seed_of_run() {
    const char* text = std::getenv("STOKER_SOAK_SEED");
    if (text != nullptr)
        return std::strtoull(text, nullptr, 10);
    return static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
}

std::chrono::seconds duration() {
    const char* text = std::getenv("STOKER_SOAK_SECONDS");
    return std::chrono::seconds(text != nullptr ? std::atol(text) : 20);
}

template <class Loader>
std::vector<std::uint64_t> rest_of_epoch(Loader& loader) {
    std::vector<std::uint64_t> values;
    while (const auto batch = loader.next_blocking()) {
        const auto [column] = batch.columns();
        values.insert(values.end(), column.begin(), column.end());
    }
    return values;
}

/// A training process: epochs until it is killed. 0: all went well, 3: an error told it.
[[noreturn]] void train() {
    int status = 0;
    try {
        stoker::loader loader{drawn_numbers{}, options_for(3)};
        for (int epoch = 0; epoch < 4; ++epoch) {
            for (auto& batch : loader)
                status += batch ? 0 : 1;
        }
    } catch (const stoker::error&) {
        status = 3;
    }
    std::_Exit(status);
}

/// Those of ours that descend from `main`, which may be dead: this process adopts them.
std::vector<process_entry> ours() {
    std::vector<process_entry> all = descendants();
    std::erase_if(all, [](const process_entry& each) { return each.state == 'Z'; });
    return all;
}

void reap_all() {
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
}

}  // namespace

TEST_CASE("300 random kills of main, fork server or workers leave nothing", "[soak]") {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    const std::uint64_t seed = seed_of_run();
    std::cout << "seed " << seed << std::endl;  // before any fork
    stoker::random dice(seed);
    int killed = 0;
    for (int round = 0; round < 300; ++round) {
        CAPTURE(seed, round);
        const pid_t main = ::fork();
        REQUIRE(main >= 0);
        if (main == 0)
            train();
        std::this_thread::sleep_for(std::chrono::microseconds(dice.integer(0, 25'000)));
        const auto present = ours();
        if (!present.empty()) {
            const auto& victim = present[dice.integer(std::size_t{0}, present.size())];
            ::kill(victim.pid, SIGKILL);
            ++killed;
        }
        int status = 0;
        REQUIRE(holds_within(std::chrono::seconds(30),
                             [&] { return ::waitpid(main, &status, WNOHANG) == main; }));
        const bool as_expected =
            (WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 3)) ||
            (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        CAPTURE(status);
        CHECK(as_expected);
        const bool gone = holds_within(std::chrono::seconds(5), [] {
            reap_all();
            return ours().empty();
        });
        CAPTURE(to_text(ours()));
        REQUIRE(gone);
        REQUIRE(shared_memory_entries(main).empty());
    }
    std::cout << killed << " kills\n";
    CHECK(killed > 100);
    stoker::loader next{drawn_numbers{}, options_for(2)};
    CHECK(rest_of_epoch(next).size() == sample_count);
}

TEST_CASE("each sample comes once, in order, whichever workers are killed or stopped", "[soak]") {
    const std::uint64_t seed = seed_of_run();
    std::cout << "seed " << seed << std::endl;  // before any fork
    stoker::random dice(seed);
    std::vector<std::uint64_t> expected;
    {
        stoker::loader undisturbed{drawn_numbers{}, options_for(0)};
        expected = rest_of_epoch(undisturbed);
    }
    const std::size_t descriptors = open_descriptor_count();
    const auto end = std::chrono::steady_clock::now() + duration();
    int epochs = 0;
    int kills = 0;
    while (std::chrono::steady_clock::now() < end) {
        CAPTURE(seed, epochs);
        const int workers = dice.integer(1, 5);
        stoker::loader loader{drawn_numbers{}, options_for(workers)};
        std::vector<std::uint64_t> seen;
        while (const auto batch = loader.next_blocking()) {
            const auto [column] = batch.columns();
            seen.insert(seen.end(), column.begin(), column.end());
            if (!dice.coin(0.05))
                continue;
            const auto processes = loader.worker_processes();
            if (processes.empty())
                continue;
            const pid_t victim = processes[dice.integer(std::size_t{0}, processes.size())];
            const bool stop = dice.coin(0.3);
            ::kill(victim, stop ? SIGSTOP : SIGKILL);
            if (stop) {  // shorter than the loader's patience
                std::this_thread::sleep_for(std::chrono::milliseconds(dice.integer(0, 5)));
                ::kill(victim, dice.coin() ? SIGCONT : SIGKILL);
            }
            ++kills;
        }
        REQUIRE(seen == expected);
        ++epochs;
    }
    std::cout << epochs << " epochs, " << kills << " kills and stops\n";
    CHECK(holds_within(std::chrono::seconds(5), [] { return descendants().empty(); }));
    CHECK(open_descriptor_count() == descriptors);
}
