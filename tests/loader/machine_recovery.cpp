#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "loader/loader_datasets.hpp"
#include "support/catch.hpp"
#include "support/leaks.hpp"

using namespace stoker;
using namespace stoker::test_loader;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using test_support::holds_within;

namespace {

void die() {
    ::kill(::getpid(), SIGKILL);
}

/// Sample `culprit` kills its worker the first `deaths` times.
struct deadly_for_a_while {
    std::size_t count = 0;
    stoker::index culprit = 0;
    std::size_t deaths = 0;
    std::string path;
    std::size_t size() const { return count; }
    drawn get(stoker::index i, context& c) const {
        if (i == culprit) {
            std::FILE* file = std::fopen(path.c_str(), "a");
            const long before = std::ftell(file);
            std::fputc('x', file);
            std::fclose(file);
            if (static_cast<std::size_t>(before) < deaths)
                die();
        }
        return {c.random(), c.epoch(), c.position()};
    }
};

struct temporary_path {
    temporary_path() {
        std::string name = "/tmp/stoker-test-XXXXXX";
        ::close(::mkstemp(name.data()));
        text = name;
    }
    temporary_path(const temporary_path&) = delete;
    temporary_path& operator=(const temporary_path&) = delete;
    ~temporary_path() { ::unlink(text.c_str()); }
    std::string text;
};

using content = std::vector<std::uint64_t>;

template <class Batch>
void append(content& all, const Batch& batch) {
    all.push_back(batch.number());
    for (const auto bits : batch[&drawn::bits])
        all.push_back(bits);
}

template <class Loader>
content whole_epoch(Loader& source) {
    content all;
    while (const auto batch = source.next_blocking())
        append(all, batch);
    return all;
}

content undisturbed(std::size_t count, loader_options options) {
    options.num_workers = 0;
    loader source{draws{count}, options};
    return whole_epoch(source);
}

}  // namespace

TEST_CASE("nothing is lost or doubled when workers are killed", "[loader][B005]") {
    for (const int workers : {1, 2, 4}) {
        const loader_options options{.batch_size = 4,
                                     .shuffle = true,
                                     .num_workers = workers,
                                     .seed = 9,
                                     .max_restarts = 1000};
        const content expected = undisturbed(1200, options);
        loader source{draws{1200}, options};
        content seen;
        std::uint64_t taken = 0;
        int killed = 0;
        while (const auto batch = source.next_blocking()) {
            append(seen, batch);
            if (++taken % 10 != 0)
                continue;
            const auto processes = source.worker_processes();
            if (processes.empty())
                continue;
            ::kill(processes[taken / 10 % processes.size()], SIGKILL);
            ++killed;
        }
        CHECK(killed > 10);
        CHECK(seen == expected);
    }
}

TEST_CASE("out of order too, each batch comes exactly once", "[loader]") {
    loader source{draws{800},
                  {.batch_size = 4, .num_workers = 3, .in_order = false, .max_restarts = 1000}};
    std::multiset<std::uint64_t> numbers;
    while (const auto batch = source.next_blocking()) {
        numbers.insert(batch.number());
        const auto processes = source.worker_processes();
        if (numbers.size() % 20 == 0 && !processes.empty())
            ::kill(processes.front(), SIGKILL);
    }
    CHECK(numbers.size() == 200);
    for (std::uint64_t number = 0; number < 200; ++number)
        CHECK(numbers.count(number) == 1);
}

TEST_CASE("a death that happens once costs nothing, whoever makes the batch", "[loader]") {
    for (const int workers : {1, 3}) {
        const temporary_path path;
        const loader_options options{.batch_size = 4, .num_workers = workers, .seed = 3};
        loader source{deadly_for_a_while{40, 17, 1, path.text}, options};
        CHECK(whole_epoch(source) == undisturbed(40, options));
    }
}

TEST_CASE("a sample that did harm twice and then none is delivered", "[loader]") {
    const temporary_path path;
    const loader_options options{.batch_size = 4, .num_workers = 2, .seed = 3};
    loader source{deadly_for_a_while{40, 17, 2, path.text}, options};
    CHECK(whole_epoch(source) == undisturbed(40, options));
}

TEST_CASE("a sample that always kills its worker is named and costs its batch", "[loader]") {
    for (const int workers : {1, 2, 4}) {
        const temporary_path path;
        loader source{deadly_for_a_while{40, 17, 1000, path.text},
                      {.batch_size = 4, .num_workers = workers}};
        std::vector<std::uint64_t> numbers;
        int errors = 0;
        for (;;) {
            try {
                const auto batch = source.next_blocking();
                if (!batch)
                    break;
                numbers.push_back(batch.number());
            } catch (const error& failure) {
                ++errors;
                CHECK(failure.code() == errc::worker_died);
                CHECK(failure.sample() == std::optional<stoker::index>(17));
                CHECK_THAT(failure.text(), ContainsSubstring("sample 17 kills its worker") &&
                                               ContainsSubstring("3 so far") &&
                                               ContainsSubstring("killed by signal 9"));
            }
        }
        CHECK(errors == 1);
        CHECK(numbers == std::vector<std::uint64_t>{0, 1, 2, 3, 5, 6, 7, 8, 9});
    }
}

namespace {

/// Every sample kills its worker.
struct all_deadly {
    std::size_t size() const { return 40; }
    number get(stoker::index) const {
        die();
        return {};
    }
};

/// Its workers leave by themselves, as if all were well.
struct leaving {
    std::size_t size() const { return 8; }
    number get(stoker::index) const { ::_exit(0); }
};

template <class Loader>
error first_error(Loader& source) {
    try {
        while (source.next_blocking()) {
        }
    } catch (const error& failure) {
        return failure;
    }
    return error(errc::resource, "there was none");
}

}  // namespace

TEST_CASE("too many deaths end the epoch with an error that tells them all", "[loader]") {
    loader source{all_deadly{}, {.batch_size = 1, .num_workers = 4, .max_restarts = 2}};
    const error failure = first_error(source);
    CHECK(failure.code() == errc::worker_died);
    CHECK_THAT(failure.text(), ContainsSubstring("died 3 times within 60000 ms") &&
                                   ContainsSubstring("max_restarts is 2") &&
                                   ContainsSubstring("before it, "));
    // The next epoch begins with fresh workers and a fresh budget.
    CHECK(first_error(source).code() == errc::worker_died);
}

TEST_CASE("without replacements, and for workers that leave, the epoch ends", "[loader]") {
    loader never{all_deadly{}, {.num_workers = 1, .restart_workers = restart::never}};
    CHECK_THAT(first_error(never).text(), !ContainsSubstring("max_restarts"));
    loader none{all_deadly{}, {.num_workers = 1, .max_restarts = 0}};
    CHECK_THAT(first_error(none).text(), ContainsSubstring("max_restarts is 0"));
    loader left{leaving{}, {.num_workers = 1}};
    const error failure = first_error(left);
    CHECK(failure.code() == errc::worker_died);
    CHECK_THAT(failure.text(), ContainsSubstring("exited with status 0"));
}

TEST_CASE("a stopped worker is killed, and nothing is lost", "[loader]") {
    const loader_options options{.batch_size = 2, .num_workers = 2, .seed = 4};
    loader source{draws{4000}, options};
    content seen;
    append(seen, source.next_blocking());
    REQUIRE(holds_within(5s, [&] { return source.worker_processes().size() == 2; }));
    const pid_t stopped = source.worker_processes()[0];
    ::kill(stopped, SIGSTOP);
    const content rest = whole_epoch(source);
    seen.insert(seen.end(), rest.begin(), rest.end());
    CHECK(seen == undisturbed(4000, options));
    const auto after = source.worker_processes();
    CHECK(std::find(after.begin(), after.end(), stopped) == after.end());
}

TEST_CASE("a batch that is held while workers die does not change", "[loader]") {
    loader source{draws{400}, {.batch_size = 4, .num_workers = 2, .max_restarts = 1000}};
    const auto held = source.next_blocking();
    content before;
    append(before, held);
    int taken = 0;
    while (source.next_blocking()) {
        if (++taken % 5 == 0) {
            for (const pid_t process : source.worker_processes())
                ::kill(process, SIGKILL);
        }
    }
    content after;
    append(after, held);
    CHECK(after == before);
    CHECK(taken == 99);
}

TEST_CASE("an epoch given up while tasks wait for a new worker leaves nothing behind", "[loader]") {
    loader source{draws{400}, {.batch_size = 4, .num_workers = 2, .max_restarts = 1000}};
    for (int round = 0; round < 30; ++round) {
        REQUIRE(source.next_blocking());
        for (const pid_t process : source.worker_processes())
            ::kill(process, SIGKILL);
        (void)source.try_next();
        source.restart();
    }
    std::size_t samples = 0;
    while (const auto batch = source.next_blocking())
        samples += batch.size();
    CHECK(samples == 400);
}
