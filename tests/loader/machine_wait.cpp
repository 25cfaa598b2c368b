#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

#include "loader/loader_datasets.hpp"
#include "support/catch.hpp"
#include "support/leaks.hpp"

using namespace stoker;
using namespace stoker::test_loader;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using test_support::holds_within;

namespace {

/// Sample `culprit` ends its worker in some way.
struct deadly_numbers {
    std::size_t count = 0;
    stoker::index culprit = 0;
    void (*end)() = nullptr;
    std::size_t size() const { return count; }
    number get(stoker::index i) const {
        if (i == culprit && end != nullptr)
            end();
        return {static_cast<std::int64_t>(i), 0};
    }
};

struct failure {
    errc code{};
    std::string text;
    int worker = -1;
    long pid = 0;
};

/// Reads until something fails.
template <class Loader>
failure read_to_failure(Loader& loader) {
    try {
        while (auto batch = loader.next_blocking()) {
        }
    } catch (const error& e) {
        return {e.code(), e.what(), e.worker(), e.pid()};
    }
    return {};
}

}  // namespace

TEST_CASE("a worker that dies ends the epoch with an error that names it", "[loader][B005]") {
    struct way {
        void (*end)();
        const char* text;
    };
    for (const way& how : {way{[] { ::_exit(0); }, "exited with status 0"},
                           way{[] { ::_exit(3); }, "exited with status 3"},
                           way{[] { ::kill(::getpid(), SIGKILL); }, "killed by signal 9"},
                           way{[] { ::kill(::getpid(), SIGABRT); }, "killed by signal 6"}}) {
        loader loader{deadly_numbers{40, 9, how.end}, {.batch_size = 2, .num_workers = 3}};
        const auto start = std::chrono::steady_clock::now();
        const failure seen = read_to_failure(loader);
        CHECK(std::chrono::steady_clock::now() - start < 5s);
        CHECK(seen.code == errc::worker_died);
        CHECK_THAT(seen.text, ContainsSubstring(how.text));
        CHECK(seen.worker >= 0);
        CHECK(seen.pid > 0);
    }
}

TEST_CASE("after a death the next epoch starts with fresh workers", "[loader]") {
    loader loader{numbers{4000}, {.batch_size = 1, .num_workers = 2}};
    for (int round = 0; round < 3; ++round) {
        auto first = loader.next_blocking();
        REQUIRE(first);
        const auto epoch = first.epoch();
        REQUIRE(holds_within(5s, [&] { return loader.worker_processes().size() == 2; }));
        const auto before = loader.worker_processes();
        ::kill(before[1], SIGKILL);
        CHECK(read_to_failure(loader).code == errc::worker_died);
        auto again = loader.next_blocking();
        REQUIRE(again);
        CHECK(again.epoch() == epoch + 1);
        CHECK(again.number() == 0);
        CHECK(holds_within(5s, [&] { return loader.worker_processes().size() == 2; }));
    }
    loader.restart();
    CHECK(read_epoch(loader).size() == 4000);
}

TEST_CASE("an idle worker that dies is replaced without a word", "[loader]") {
    loader loader{numbers{8}, {.batch_size = 2, .num_workers = 2}};
    CHECK(read_epoch(loader).size() == 4);
    REQUIRE(holds_within(5s, [&] { return loader.worker_processes().size() == 2; }));
    const auto processes = loader.worker_processes();
    for (const pid_t process : processes)
        ::kill(process, SIGKILL);
    CHECK(holds_within(5s, [&] {
        const auto now = loader.worker_processes();
        return now.size() == 2 && now != processes;
    }));
    CHECK(read_epoch(loader).size() == 4);
}

TEST_CASE("a late batch is an error that names worker, pid, sample and time", "[loader][B078]") {
    loader loader{slow_numbers{6, [](stoker::index i) { return i == 3 ? 60000 : 0; }},
                  {.batch_size = 1, .num_workers = 2, .timeout = 300ms}};
    const auto start = std::chrono::steady_clock::now();
    const failure seen = read_to_failure(loader);
    CHECK(std::chrono::steady_clock::now() - start < 10s);
    CHECK(seen.code == errc::timed_out);
    CHECK_THAT(seen.text, ContainsSubstring("fetching sample 3") && ContainsSubstring("0.3 s"));
    CHECK(seen.worker >= 0);
    CHECK(seen.pid > 0);
    CHECK(loader.next_blocking().epoch() == 1);
}

TEST_CASE("a stopped worker is noticed without any timeout", "[loader]") {
    loader loader{numbers{100000}, {.batch_size = 1, .num_workers = 2}};
    auto first = loader.next_blocking();
    REQUIRE(holds_within(5s, [&] { return loader.worker_processes().size() == 2; }));
    ::kill(loader.worker_processes()[0], SIGSTOP);
    const auto start = std::chrono::steady_clock::now();
    const failure seen = read_to_failure(loader);
    CHECK(seen.code == errc::worker_stopped);
    CHECK(std::chrono::steady_clock::now() - start < 15s);
    CHECK(loader.next_blocking().epoch() == 1);
}

TEST_CASE("a dead fork server ends the loader with an error that says so", "[loader]") {
    loader loader{numbers{100000}, {.batch_size = 1, .num_workers = 2}};
    auto first = loader.next_blocking();
    ::kill(loader.fork_server_process(), SIGKILL);
    CHECK(read_to_failure(loader).code == errc::fork_server_died);
    CHECK(read_to_failure(loader).code == errc::fork_server_died);
}

TEST_CASE("a loader is destroyed at once while its workers are stuck", "[loader]") {
    const auto start = std::chrono::steady_clock::now();
    {
        loader loader{slow_numbers{8, [](stoker::index) { return 60000; }},
                      {.batch_size = 1, .num_workers = 3}};
        std::this_thread::sleep_for(20ms);
    }
    CHECK(std::chrono::steady_clock::now() - start < 5s);
}

TEST_CASE("the host sees no child and nothing is left behind", "[loader]") {
    const auto descriptors = test_support::open_descriptor_count();
    for (int round = 0; round < 20; ++round) {
        loader loader{numbers{16}, {.batch_size = 2, .num_workers = 2}};
        CHECK(read_epoch(loader).size() == 8);
        CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);
    }
    CHECK(test_support::open_descriptor_count() == descriptors);
    CHECK(test_support::shared_memory_entries(::getpid()).empty());
    CHECK(holds_within(2s, [] { return test_support::descendants().empty(); }));
}
