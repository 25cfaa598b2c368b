#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "loader/loader_datasets.hpp"
#include "support/catch.hpp"
#include "support/leaks.hpp"
#include "support/run_child.hpp"

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

/// Begin and bytes of this process's mappings whose file has such a name.
std::vector<std::pair<void*, std::size_t>> mappings_of(const std::string& name) {
    std::vector<std::pair<void*, std::size_t>> found;
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
        if (line.find(name) == std::string::npos)
            continue;
        std::size_t used = 0;
        const std::uintptr_t begin = std::stoull(line, &used, 16);
        const std::uintptr_t end = std::stoull(line.substr(used + 1), nullptr, 16);
        found.emplace_back(reinterpret_cast<void*>(begin), end - begin);
    }
    return found;
}

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

TEST_CASE("a worker that dies and is not to be replaced ends the epoch with an error that names it",
          "[loader][B005]") {
    struct way {
        void (*end)();
        const char* text;
    };
    for (const way& how : {way{[] { ::_exit(0); }, "exited with status 0"},
                           way{[] { ::_exit(3); }, "exited with status 3"},
                           way{[] { ::kill(::getpid(), SIGKILL); }, "killed by signal 9"},
                           way{[] { ::kill(::getpid(), SIGABRT); }, "killed by signal 6"}}) {
        loader loader{deadly_numbers{40, 9, how.end},
                      {.batch_size = 2, .num_workers = 3, .restart_workers = restart::never}};
        const auto start = std::chrono::steady_clock::now();
        const failure seen = read_to_failure(loader);
        // 1 s is promised; the rest is room for a busy test machine.
        CHECK(std::chrono::steady_clock::now() - start < 3s);
        CHECK(seen.code == errc::worker_died);
        CHECK_THAT(seen.text, ContainsSubstring(how.text));
        CHECK(seen.worker >= 0);
        CHECK(seen.pid > 0);
    }
}

TEST_CASE("after a death the next epoch starts with fresh workers", "[loader]") {
    loader loader{numbers{4000},
                  {.batch_size = 1, .num_workers = 2, .restart_workers = restart::never}};
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
        return now.size() == 2 && now[0] != processes[0] && now[1] != processes[1];
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
    // Nothing else is lost: the epoch goes on behind it.
    for (std::uint64_t number = 4; number < 6; ++number) {
        const auto batch = loader.next_blocking();
        CHECK(batch.epoch() == 0);
        CHECK(batch.number() == number);
    }
    CHECK_FALSE(loader.next_blocking());
    CHECK(loader.next_blocking().epoch() == 1);
}

TEST_CASE("a stopped worker is noticed without any timeout", "[loader]") {
    loader loader{numbers{100000},
                  {.batch_size = 1, .num_workers = 2, .restart_workers = restart::never}};
    auto first = loader.next_blocking();
    REQUIRE(holds_within(5s, [&] { return loader.worker_processes().size() == 2; }));
    ::kill(loader.worker_processes()[0], SIGSTOP);
    const failure seen = read_to_failure(loader);
    CHECK(seen.code == errc::worker_stopped);
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

TEST_CASE("a worker stuck in an epoch long given up does not hold the next one up", "[loader]") {
    loader source{
        slow_numbers{8, [](stoker::index i) { return i == 0 ? 60000 : 0; }},
        {.batch_size = 1, .num_workers = 1, .timeout = 300ms, .prefetch_factor = 1},
        sampler{[](std::uint64_t epoch) { return std::vector<int>(4, epoch < 4 ? 0 : 5); }}};
    for (std::uint64_t epoch = 0; epoch < 5; ++epoch)
        source.restart(epoch);
    const auto start = std::chrono::steady_clock::now();
    auto batch = source.next_blocking();
    REQUIRE(batch);
    CHECK(batch[&number::value](0) == 5);
    CHECK(std::chrono::steady_clock::now() - start < 10s);
}

TEST_CASE("who only looks is told of late and of stopped workers too", "[loader]") {
    loader source{slow_numbers{4, [](stoker::index) { return 60000; }},
                  {.batch_size = 1, .num_workers = 1, .timeout = 300ms}};
    std::optional<errc> told;
    CHECK(holds_within(10s, [&] {
        try {
            (void)source.try_next();
        } catch (const error& e) {
            told = e.code();
        }
        return told.has_value();
    }));
    CHECK(told == errc::timed_out);
}

TEST_CASE("a worker that could not be replaced is tried again", "[loader]") {
    const auto outcome = test_support::run_child([](std::ostream& out) {
        loader source{numbers{8}, {.batch_size = 2, .num_workers = 1}};
        read_epoch(source);
        const auto processes = source.worker_processes();
        ::kill(processes.at(0), SIGKILL);
        rlimit before{};
        ::getrlimit(RLIMIT_NOFILE, &before);
        const rlimit none{4, before.rlim_max};  // numbers that were freed cannot be used either
        ::setrlimit(RLIMIT_NOFILE, &none);
        try {
            read_epoch(source);
            read_epoch(source);
            out << "no error";
            return 1;
        } catch (const error& e) {
            out << e.what();
        }
        ::setrlimit(RLIMIT_NOFILE, &before);
        for (int tries = 0; tries < 3; ++tries) {
            try {
                if (read_epoch(source).size() == 4)
                    return 0;
            } catch (const error& e) {
                out << e.what();
            }
        }
        return 2;
    });
    CAPTURE(outcome.text);
    CHECK(outcome.succeeded());
}

TEST_CASE("workers of the next epoch that cannot be started do not hide the end of this one",
          "[loader]") {
    const auto outcome = test_support::run_child([](std::ostream& out) {
        loader source{
            numbers{8},
            {.batch_size = 2, .num_workers = 1, .persistent_workers = false, .epochs = 2}};
        for (int i = 0; i < 4; ++i)
            (void)source.next_blocking();
        rlimit before{};
        ::getrlimit(RLIMIT_NOFILE, &before);
        const rlimit none{4, before.rlim_max};
        ::setrlimit(RLIMIT_NOFILE, &none);
        const bool ended = !source.next_blocking();
        bool told = false;
        try {
            (void)source.next_blocking();
        } catch (const error& e) {
            told = true;
            out << e.what();
        }
        ::setrlimit(RLIMIT_NOFILE, &before);
        return ended && told && read_epoch(source).size() == 4 ? 0 : 1;
    });
    CAPTURE(outcome.text);
    CHECK(outcome.succeeded());
}

TEST_CASE("a process that the host forks may leave without disturbing the loader", "[loader]") {
    const auto outcome = test_support::run_child([](std::ostream& out) {
        auto source = std::make_unique<loader<numbers>>(
            numbers{40}, loader_options{.batch_size = 2, .num_workers = 2});
        auto held = source->next_blocking();
        const auto shared = mappings_of("/memfd:stoker-");
        if (shared.size() < 2)
            return 3;
        const pid_t child = ::fork();
        if (child == 0) {
            // Slots and words are not there in a fork: the child may map something in their place.
            for (const auto& [begin, bytes] : shared) {
                if (::mmap(begin, bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1,
                           0) != begin)
                    ::_exit(8);
            }
            held = {};
            source.reset();
            for (const auto& [begin, bytes] : shared)
                *static_cast<volatile char*>(begin) = 1;
            ::_exit(7);
        }
        int status = 0;
        ::waitpid(child, &status, 0);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 7) {
            out << "the child did not leave by itself: " << status;
            return 1;
        }
        const auto rest = read_epoch(*source);
        out << rest.size();
        return rest.size() == 19 && source->worker_processes().size() == 2 ? 0 : 2;
    });
    CAPTURE(outcome.text);
    CHECK(outcome.succeeded());
}

TEST_CASE("a host without standard descriptors, or one that adopts orphans, leaves nothing",
          "[loader]") {
    const auto outcome = test_support::run_child([](std::ostream& out) {
        ::prctl(PR_SET_CHILD_SUBREAPER, 1);
        ::close(0);
        pid_t server = 0;
        {
            loader source{numbers{8}, {.batch_size = 2, .num_workers = 2}};
            if (read_epoch(source).size() != 4)
                return 1;
            server = source.fork_server_process();
        }
        out << "the fork server " << server;
        return ::kill(server, 0) == -1 && errno == ESRCH ? 0 : 2;
    });
    CAPTURE(outcome.text);
    CHECK(outcome.succeeded());
}

TEST_CASE("restart() past the last announced epoch is refused by number, and ends it without",
          "[loader]") {
    loader source{numbers{4}, {.batch_size = 2, .num_workers = 1, .epochs = 2}};
    CHECK_THROWS_AS(source.restart(2), error);
    CHECK(source.next_blocking());
    source.restart();
    CHECK(source.next_blocking().epoch() == 1);
    source.restart();
    CHECK_FALSE(source.next_blocking());
}
