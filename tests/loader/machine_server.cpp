// The fork server dies, or is stopped, in the middle of an epoch.

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "loader/loader_datasets.hpp"
#include "loader/stream_datasets.hpp"
#include "support/catch.hpp"
#include "support/leaks.hpp"
#include "support/run_child.hpp"

using namespace stoker;
using namespace stoker::test_loader;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using test_support::holds_within;

namespace {

struct failure {
    errc code{};
    std::string text{};
    std::string remedy{};
};

template <class Call>
std::optional<failure> failure_of(Call call) {
    try {
        call();
    } catch (const error& e) {
        return failure{e.code(), e.what(), e.remedy()};
    }
    return std::nullopt;
}

/// The values of an epoch; `each(number)` runs after each batch.
template <class Loader, class Each>
std::vector<std::int64_t> read_values(Loader& loader, Each each) {
    std::vector<std::int64_t> values;
    while (const auto batch = loader.next_blocking()) {
        for (const std::int64_t value : batch[&number::value])
            values.push_back(value);
        each(values.size());
    }
    return values;
}

std::vector<std::int64_t> up_to(std::size_t count) {
    std::vector<std::int64_t> values(count);
    for (std::size_t i = 0; i < count; ++i)
        values[i] = static_cast<std::int64_t>(i);
    return values;
}

bool is_gone(pid_t process) {
    return holds_within(5s, [&] {
        for (const auto& each : test_support::descendants()) {
            if (each.pid == process && each.state != 'Z')
                return false;
        }
        return true;
    });
}

bool state_is(pid_t process, char state) {
    return holds_within(5s, [&] {
        for (const auto& each : test_support::descendants()) {
            if (each.pid == process)
                return each.state == state;
        }
        return false;
    });
}

}  // namespace

TEST_CASE("an epoch goes on exactly when its fork server dies and the object lives", "[loader]") {
    fork_server forks;
    loader source{forks.dataset([](std::size_t count) { return numbers{count}; }, 3000),
                  {.batch_size = 3, .num_workers = 3}};
    REQUIRE(holds_within(5s, [&] { return source.worker_processes().size() == 3; }));
    const auto descriptors = test_support::open_descriptor_count();
    for (int epoch = 0; epoch < 3; ++epoch) {
        const pid_t victim = source.fork_server_process();
        const auto values = read_values(source, [&](std::size_t read) {
            if (read == 900)
                ::kill(victim, SIGKILL);
        });
        CHECK(values == up_to(3000));
        CHECK(source.fork_server_process() != victim);
        CHECK(is_gone(victim));
    }
    CHECK(holds_within(5s, [&] { return source.worker_processes().size() == 3; }));
    CHECK(test_support::open_descriptor_count() == descriptors);
    CHECK(test_support::shared_memory_entries(::getpid()).empty());
}

TEST_CASE("out of order too, and when server and workers die together", "[loader]") {
    fork_server forks;
    loader source{forks.dataset([](std::size_t count) { return numbers{count}; }, 1000),
                  {.batch_size = 2, .num_workers = 2, .in_order = false, .max_restarts = 100}};
    for (int epoch = 0; epoch < 5; ++epoch) {
        auto values = read_values(source, [&](std::size_t read) {
            if (read % 300 != 0)
                return;
            for (const pid_t worker : source.worker_processes())
                ::kill(worker, SIGKILL);
            ::kill(source.fork_server_process(), SIGKILL);
        });
        std::sort(values.begin(), values.end());
        CHECK(values == up_to(1000));
    }
}

TEST_CASE("a fork server that dies between two epochs is replaced", "[loader]") {
    fork_server forks;
    loader source{forks.dataset([] { return numbers{40}; }),
                  {.batch_size = 4, .num_workers = 2, .persistent_workers = false}};
    CHECK(read_values(source, [](std::size_t) {}) == up_to(40));
    ::kill(source.fork_server_process(), SIGKILL);
    CHECK(read_values(source, [](std::size_t) {}) == up_to(40));
    ::kill(source.fork_server_process(), SIGKILL);
    source.restart();
    CHECK(read_values(source, [](std::size_t) {}) == up_to(40));
}

TEST_CASE("without the object the error says what happened and what to do", "[loader]") {
    loader source{numbers{100000}, {.batch_size = 1, .num_workers = 2}};
    CHECK(source.next_blocking());
    ::kill(source.fork_server_process(), SIGKILL);
    const auto seen = failure_of([&] { read_values(source, [](std::size_t) {}); });
    REQUIRE(seen);
    CHECK(seen->code == errc::fork_server_died);
    CHECK_THAT(seen->remedy, ContainsSubstring("stoker::fork_server forks;"));
    CHECK(failure_of([&] { source.next_blocking(); })->code == errc::fork_server_died);
    CHECK(failure_of([&] { source.restart(); })->code == errc::fork_server_died);
}

TEST_CASE("an object that has ended cannot replace a fork server, and that is said", "[loader]") {
    std::optional<fork_server> forks{std::in_place};
    loader source{forks->dataset([] { return numbers{100000}; }),
                  {.batch_size = 1, .num_workers = 2}};
    CHECK(source.next_blocking());
    forks.reset();
    CHECK(source.next_blocking());
    ::kill(source.fork_server_process(), SIGKILL);
    const auto seen = failure_of([&] { read_values(source, [](std::size_t) {}); });
    REQUIRE(seen);
    CHECK(seen->code == errc::fork_server_died);
    CHECK_THAT(seen->text, ContainsSubstring("another one could not be made"));
    CHECK_THAT(seen->text, ContainsSubstring("was the object destroyed"));
}

TEST_CASE("fork servers that die again and again end the epoch within the budget", "[loader]") {
    fork_server forks;
    loader source{forks.dataset([] { return numbers{100000}; }),
                  {.batch_size = 1, .num_workers = 1, .max_restarts = 2}};
    const auto seen = failure_of([&] {
        read_values(source, [&](std::size_t) { ::kill(source.fork_server_process(), SIGKILL); });
    });
    REQUIRE(seen);
    CHECK(seen->code == errc::fork_server_died);
    CHECK_THAT(seen->text, ContainsSubstring("max_restarts is 2"));
}

TEST_CASE("a recipe that makes another dataset the second time is refused", "[loader]") {
    const std::string path = "/tmp/stoker_recipe_" + std::to_string(::getpid());
    fork_server forks;
    loader source{forks.dataset(
                      [](const std::string& mark) {
                          const bool again = ::access(mark.c_str(), F_OK) == 0;
                          return numbers{again ? std::size_t{7} : std::size_t{100000}};
                      },
                      path),
                  {.batch_size = 1, .num_workers = 1}};
    CHECK(source.next_blocking());
    ::close(::creat(path.c_str(), 0600));
    ::kill(source.fork_server_process(), SIGKILL);
    const auto seen = failure_of([&] { read_values(source, [](std::size_t) {}); });
    ::unlink(path.c_str());
    REQUIRE(seen);
    CHECK_THAT(seen->text, ContainsSubstring("7 samples this time, and of 100000 before"));
}

TEST_CASE("a stopped fork server and a stopped worker are woken, and nothing is lost", "[loader]") {
    loader source{slow_numbers{60, [](stoker::index) { return 1; }},
                  {.batch_size = 2, .num_workers = 1}};
    bool done = false;
    const auto start = std::chrono::steady_clock::now();
    const auto values = read_values(source, [&](std::size_t) {
        const auto workers = source.worker_processes();
        if (done || workers.empty())
            return;
        done = true;
        ::kill(source.fork_server_process(), SIGSTOP);
        CHECK(state_is(source.fork_server_process(), 'T'));
        ::kill(workers.front(), SIGSTOP);
    });
    CHECK(done);
    CHECK(values == up_to(60));
    CHECK(std::chrono::steady_clock::now() - start < 15s);
}

TEST_CASE("a worker that dies while the fork server is stopped is replaced in time", "[loader]") {
    loader source{slow_numbers{60, [](stoker::index) { return 1; }},
                  {.batch_size = 2, .num_workers = 1}};
    bool done = false;
    const auto values = read_values(source, [&](std::size_t) {
        const auto workers = source.worker_processes();
        if (done || workers.empty())
            return;
        done = true;
        ::kill(source.fork_server_process(), SIGSTOP);
        ::kill(workers.front(), SIGKILL);
    });
    CHECK(done);
    CHECK(values == up_to(60));
}

TEST_CASE("a fork server that is stopped whenever it is woken is ended and replaced", "[loader]") {
    const auto outcome = test_support::run_child(
        [](std::ostream& out) {
            fork_server forks;
            std::atomic<bool> over = false;
            loader source{forks.dataset([] {
                              return slow_numbers{8, [](stoker::index) { return 1; }};
                          }),
                          {.batch_size = 1, .num_workers = 1}};
            const auto first = source.next_blocking();
            const pid_t victim = source.fork_server_process();
            const auto workers = source.worker_processes();
            std::thread tormentor([&] {
                while (!over) {
                    ::kill(victim, SIGSTOP);
                    for (const pid_t worker : workers)
                        ::kill(worker, SIGSTOP);
                    std::this_thread::sleep_for(5ms);
                }
            });
            const auto values = read_values(source, [](std::size_t) {});
            over = true;
            tormentor.join();
            out << values.size() << " values";
            return values.size() == 7 && source.fork_server_process() != victim ? 0 : 1;
        },
        30s);
    CAPTURE(outcome.text);
    CHECK(outcome.succeeded());
}
