// Random use: breaks, restarts, errors, deaths, stops, slow samples, held batches and destruction
// in any order, with a seed that is printed. No sample may come twice, none may be missing from an
// epoch in which nothing failed, after each history nothing may be left, and memory, descriptors
// and processes are sampled: they stay as they are, for minutes in CI, for hours by
// STOKER_SOAK_SECONDS.

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <optional>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include <stoker/stoker.hpp>
#include "support/catch.hpp"
#include "support/instrumented.hpp"
#include "support/leaks.hpp"

using namespace stoker::test_support;

namespace {

struct moody {
    std::size_t size() const { return 200; }
    std::int64_t get(stoker::index i, stoker::context& c) const {
        const auto mood = c.random.integer(0, 2000);
        if (mood == 0)
            throw std::runtime_error("a bad sample");
        if (mood < 20)
            std::this_thread::sleep_for(std::chrono::milliseconds(3));
        if (c.num_workers() == 0)
            return static_cast<std::int64_t>(i);  // the rest would end this very process
        if (mood == 20)
            ::_exit(5);
        if (mood == 21)
            ::raise(SIGALRM);  // one that neither the framework nor a sanitizer handles
        if (mood == 22)
            std::this_thread::sleep_for(std::chrono::milliseconds(300));
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
    bool replaces = false;
    std::uint64_t epoch = 0;  ///< of what follows
    std::set<stoker::index> seen{};
    std::size_t samples = 0;
    bool whole = true;  ///< the epoch so far: nothing failed, nothing was given up

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
        if (dice.coin(0.3))
            options.timeout = std::chrono::milliseconds(200);
        options.on_bad = dice.coin(0.3) ? stoker::on_bad::skip : stoker::on_bad::fail;
        replaces = options.on_bad == stoker::on_bad::fail && dice.coin();
        if (replaces) {
            use(stoker::loader{moody{}, options, stoker::replace_bad{[](stoker::bad_sample& bad) {
                                   return bad.random.integer(0, bad.size);
                               }}});
        } else {
            use(stoker::loader{moody{}, options});
        }
    }

    template <class Loader>
    void use(Loader loader) {
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
                whole = false;
            } else if (choice < 4) {
                const auto processes = loader.worker_processes();
                if (!processes.empty()) {
                    const int signal = dice.coin(loader.options().timeout.count() > 0 ? 0.6 : 0.95)
                                           ? SIGKILL
                                           : SIGSTOP;
                    ::kill(processes[dice() % processes.size()], signal);
                }
            } else if (choice < 14) {
                if (auto batch = loader.try_next())
                    note(loader, *batch);
            } else {
                auto batch = loader.next_blocking();
                note(loader, batch);
                if (!batch)
                    return;
                // Without workers there are two slots, and one that waits for a third waits long.
                const std::size_t most = loader.options().num_workers == 0 ? 1 : 2;
                if (held.size() < most && choice < 40)
                    held.push_back(std::move(batch));
                else if (!held.empty() && choice < 50)
                    held.pop_back();
            }
        } catch (const stoker::error& e) {
            ++failed;
            whole = false;
            const auto code = e.code();
            const bool expected =
                code == stoker::errc::sample_failed || code == stoker::errc::worker_died ||
                code == stoker::errc::worker_stopped || code == stoker::errc::timed_out ||
                code == stoker::errc::no_free_slot;
            CAPTURE(e.what());
            REQUIRE(expected);
        }
    }

    template <class Loader, class Batch>
    void note(const Loader& loader, const Batch& batch) {
        if (!batch) {
            const std::size_t left_out =
                loader.options().on_bad == stoker::on_bad::skip ? loader.skipped().count : 0;
            // Epochs end once; skipped samples may have been of later epochs, too.
            if (whole && !over) {
                REQUIRE(samples <= 200);
                REQUIRE(samples + left_out >= 200);
            }
            over = true;
            return;
        }
        ++delivered;
        if (batch.epoch() != epoch || over) {
            REQUIRE(batch.epoch() >= epoch);
            whole = batch.number() == 0;
            epoch = batch.epoch();
            seen.clear();
            samples = 0;
            over = false;
        }
        samples += batch.size();
        for (const auto index : batch.indices()) {
            REQUIRE(index < 200);
            const bool fresh = seen.insert(index).second;
            REQUIRE((fresh || replaces));
        }
    }
    bool over = false;
};

}  // namespace

TEST_CASE("random histories neither hang nor leave anything", "[soak]") {
    const std::uint64_t first_seed = first_seed_of_run();
    const auto end = std::chrono::steady_clock::now() + duration();
    history{.dice = stoker::random(1)}.run();
    const std::size_t descriptors = open_descriptor_count();
    std::size_t resident = 0;  // once all has been done that is done once
    int delivered = 0, failed = 0, histories = 0;
    for (std::uint64_t seed = first_seed; std::chrono::steady_clock::now() < end; ++seed) {
        CAPTURE(seed);
        history one{.dice = stoker::random(seed)};
        one.run();
        delivered += one.delivered;
        failed += one.failed;
        ++histories;
        REQUIRE(open_descriptor_count() == descriptors);
        if (histories % 10 != 0)
            continue;
        REQUIRE(holds_within(std::chrono::seconds(5), [] { return descendants().empty(); }));
        REQUIRE(shared_memory_entries(::getpid()).empty());
        if (resident == 0)
            resident = resident_bytes();
        if (instrumented)
            continue;  // sanitizers keep what was freed
        CAPTURE(resident, resident_bytes());
        REQUIRE(resident_bytes() < resident + (std::size_t{8} << 20));
    }
    WARN(histories << " histories, " << delivered << " batches, " << failed << " errors, resident "
                   << resident << " bytes, then " << resident_bytes());
    CHECK(delivered > 0);
    CHECK(shared_memory_entries(::getpid()).empty());
    CHECK(holds_within(std::chrono::seconds(5), [] { return descendants().empty(); }));
}
