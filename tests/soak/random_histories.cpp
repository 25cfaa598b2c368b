// Random use: breaks, restarts, errors, deaths, held batches and destruction in any order, with a
// seed that is printed. After each history nothing may be left.

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include <stoker/stoker.hpp>
#include "support/catch.hpp"
#include "support/leaks.hpp"

using namespace stoker::test_support;

namespace {

struct moody {
    std::size_t size() const { return 200; }
    std::int64_t get(stoker::index i, stoker::context& c) const {
        const auto mood = c.random.integer(0, 2000);
        if (mood == 0)
            throw std::runtime_error("a bad sample");
        if (mood == 1)
            ::_exit(5);
        if (mood < 20)
            std::this_thread::sleep_for(std::chrono::milliseconds(3));
        return static_cast<std::int64_t>(i);
    }
};

/// Seconds to run: STOKER_SOAK_SECONDS, or 20.
std::chrono::seconds duration() {
    const char* text = std::getenv("STOKER_SOAK_SECONDS");
    return std::chrono::seconds(text != nullptr ? std::atol(text) : 20);
}

/// STOKER_SOAK_SEED, to repeat a run; otherwise another one each time.
std::uint64_t first_seed_of_run() {
    const char* text = std::getenv("STOKER_SOAK_SEED");
    if (text != nullptr)
        return std::strtoull(text, nullptr, 10);
    return static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
}

struct history {
    stoker::random dice;
    int delivered = 0;
    int failed = 0;

    void run() {
        stoker::loader_options options{};
        options.batch_size = dice.integer(1, 9);
        options.shuffle = dice.coin();
        options.num_workers = dice.integer(0, 5);
        options.prefetch_factor = dice.integer(1, 5);
        options.persistent_workers = dice.coin();
        options.in_order = dice.coin();
        options.seed = dice();
        options.epochs = dice.coin() ? 0 : dice.integer(1, 4);
        // Without workers a moody sample would end this very process.
        if (options.num_workers == 0)
            return;
        stoker::loader loader{moody{}, options};
        std::vector<decltype(loader.next_blocking())> held;
        const int steps = dice.integer(1, 120);
        for (int step = 0; step < steps; ++step)
            take_step(loader, held);
    }

    template <class Loader, class Held>
    void take_step(Loader& loader, Held& held) {
        try {
            const int choice = dice.integer(0, 100);
            if (choice < 2) {
                loader.restart();
            } else if (choice < 4) {
                const auto processes = loader.worker_processes();
                if (!processes.empty())
                    ::kill(processes[dice() % processes.size()], SIGKILL);
            } else if (choice < 14) {
                (void)loader.try_next();
            } else {
                auto batch = loader.next_blocking();
                if (!batch)
                    return;
                ++delivered;
                for (const auto index : batch.indices())
                    REQUIRE(index < 200);
                if (held.size() < 2 && choice < 40)
                    held.push_back(std::move(batch));
                else if (!held.empty() && choice < 50)
                    held.pop_back();
            }
        } catch (const stoker::error& e) {
            ++failed;
            const auto code = e.code();
            const bool expected = code == stoker::errc::sample_failed ||
                                  code == stoker::errc::worker_died ||
                                  code == stoker::errc::no_free_slot;
            CAPTURE(e.what());
            REQUIRE(expected);
        }
    }
};

}  // namespace

TEST_CASE("random histories neither hang nor leave anything", "[soak]") {
    const std::uint64_t first_seed = first_seed_of_run();
    const auto end = std::chrono::steady_clock::now() + duration();
    history{.dice = stoker::random(1)}.run();
    const std::size_t descriptors = open_descriptor_count();
    int delivered = 0, failed = 0, histories = 0;
    for (std::uint64_t seed = first_seed; std::chrono::steady_clock::now() < end; ++seed) {
        CAPTURE(seed);
        history one{.dice = stoker::random(seed)};
        one.run();
        delivered += one.delivered;
        failed += one.failed;
        ++histories;
        REQUIRE(open_descriptor_count() == descriptors);
    }
    WARN(histories << " histories, " << delivered << " batches, " << failed << " errors");
    CHECK(delivered > 0);
    CHECK(shared_memory_entries(::getpid()).empty());
    CHECK(holds_within(std::chrono::seconds(5), [] { return descendants().empty(); }));
}
