// The training process and its surroundings: it is killed, interrupted, stopped and continued; it
// has children, handlers and threads of its own; it is a worker of another loader.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "loader/loader_datasets.hpp"
#include "support/catch.hpp"
#include "support/leaks.hpp"
#include "support/run_child.hpp"

using namespace stoker;
using namespace stoker::test_loader;
using namespace std::chrono_literals;
using test_support::holds_within;
using test_support::process_entry;

namespace {

/// Samples of a millisecond each.
slow_numbers steady_numbers(std::size_t count) {
    return {count, [](stoker::index) { return 1; }};
}

template <class Loader>
std::vector<std::int64_t> values_of(Loader& source, const std::function<void(std::size_t)>& each) {
    std::vector<std::int64_t> values;
    while (const auto batch = source.next_blocking()) {
        for (const std::int64_t value : batch[&number::value])
            values.push_back(value);
        each(values.size());
    }
    return values;
}

std::vector<std::int64_t> first_integers(std::size_t count) {
    std::vector<std::int64_t> values(count);
    for (std::size_t i = 0; i < count; ++i)
        values[i] = static_cast<std::int64_t>(i);
    return values;
}

/// A process group of a training program and all that it made, with a pipe to say that it is ready.
class trainer {
  public:
    explicit trainer(const std::function<void(int ready)>& body) {
        if (::pipe(ready_) != 0 || ::pipe(text_) != 0)
            std::abort();
        pid_ = ::fork();
        if (pid_ == 0) {
            ::setpgid(0, 0);
            for (const int number : {SIGINT, SIGTERM})
                ::signal(number, SIG_DFL);  // the test framework's report is not ours
            ::dup2(text_[1], 1);
            ::dup2(text_[1], 2);
            try {
                body(ready_[1]);
            } catch (const std::exception& failure) {
                const std::string what = failure.what();
                [[maybe_unused]] const auto said = ::write(1, what.data(), what.size());
            }
            ::_exit(0);
        }
        ::setpgid(pid_, pid_);
        ::close(ready_[1]);
        ::close(text_[1]);
    }
    ~trainer() {
        ::kill(-pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
        ::close(ready_[0]);
        ::close(text_[0]);
    }
    trainer(const trainer&) = delete;
    trainer& operator=(const trainer&) = delete;

    pid_t pid() const { return pid_; }
    /// Waits until the body has written a byte.
    bool wait_ready() const {
        char byte = 0;
        return ::read(ready_[0], &byte, 1) == 1;
    }
    /// How the training process ended; nothing when it has not within that time.
    std::optional<int> end(std::chrono::milliseconds limit) {
        int status = 0;
        if (!holds_within(limit, [&] { return ::waitpid(pid_, &status, WNOHANG) == pid_; }))
            return std::nullopt;
        return status;
    }
    /// What was written to descriptors 1 and 2, until the last holder is gone.
    std::string text() const {
        std::string all;
        char room[256];
        for (ssize_t got; (got = ::read(text_[0], room, sizeof room)) > 0;)
            all.append(room, static_cast<std::size_t>(got));
        return all;
    }

  private:
    pid_t pid_ = -1;
    int ready_[2] = {};
    int text_[2] = {};
};

void say_ready(int ready) {
    [[maybe_unused]] const auto said = ::write(ready, "!", 1);
}

/// Processes of the trainer's: all that run this program and are not `except`.
bool all_gone(pid_t except = 0) {
    return holds_within(5s, [&] {
        auto all = test_support::descendants();
        std::erase_if(all, [&](const process_entry& each) { return each.pid == except; });
        return all.empty();
    });
}

template <class Loader>
void train_for_ever(Loader& source, int ready) {
    (void)source.next_blocking();
    holds_within(5s, [&] {
        return source.worker_processes().size() ==
               static_cast<std::size_t>(source.options().num_workers);
    });
    say_ready(ready);
    for (;;) {
        while (source.next_blocking()) {
        }
    }
}

}  // namespace

TEST_CASE("kill -9 of main ends everything, and the next run starts", "[loader][B001]") {
    for (int round = 0; round < 3; ++round) {
        trainer run([](int ready) {
            loader source{steady_numbers(100'000), {.batch_size = 4, .num_workers = 4}};
            train_for_ever(source, ready);
        });
        REQUIRE(run.wait_ready());
        ::kill(run.pid(), SIGKILL);
        CHECK(run.end(5s));
        CHECK(all_gone());
        CHECK(test_support::shared_memory_entries(run.pid()).empty());
    }
    loader next{numbers{8}, {.batch_size = 2, .num_workers = 2}};
    CHECK(values_of(next, [](std::size_t) {}) == first_integers(8));
}

TEST_CASE("so it does when the thread that made the loader has ended", "[loader][B001]") {
    trainer run([](int ready) {
        fork_server forks;
        std::optional<loader<slow_numbers>> source;
        std::thread([&] {
            source.emplace(forks.dataset([] { return steady_numbers(64); }),
                           loader_options{.batch_size = 4, .num_workers = 2});
        }).join();
        // The end of that thread must not end the workers.
        if (values_of(*source, [](std::size_t) {}) != first_integers(64))
            std::abort();
        train_for_ever(*source, ready);
    });
    REQUIRE(run.wait_ready());
    ::kill(run.pid(), SIGKILL);
    CHECK(run.end(5s));
    CHECK(all_gone());
}

TEST_CASE("so it does while a child of the host holds all its descriptors", "[loader][B001]") {
    int child_pid[2];
    REQUIRE(::pipe(child_pid) == 0);
    trainer run([&](int ready) {
        loader source{steady_numbers(100'000), {.batch_size = 4, .num_workers = 2}};
        (void)source.next_blocking();
        const pid_t child = ::fork();
        if (child == 0) {
            for (;;)
                ::pause();
        }
        [[maybe_unused]] const auto said = ::write(child_pid[1], &child, sizeof child);
        train_for_ever(source, ready);
    });
    REQUIRE(run.wait_ready());
    pid_t child = 0;
    REQUIRE(::read(child_pid[0], &child, sizeof child) == sizeof child);
    ::kill(run.pid(), SIGKILL);
    CHECK(run.end(5s));
    CHECK(all_gone(child));
    CHECK(::kill(child, 0) == 0);
    ::kill(child, SIGKILL);
    CHECK(all_gone());
    ::close(child_pid[0]);
    ::close(child_pid[1]);
}

TEST_CASE("Ctrl-C to the group ends main, and nobody else says a word", "[loader][B002]") {
    trainer run([](int ready) {
        // Workers are in the middle of samples, and results wait.
        loader source{steady_numbers(100'000),
                      {.batch_size = 1, .num_workers = 4, .prefetch_factor = 8}};
        (void)source.next_blocking();
        say_ready(ready);
        for (;;)
            ::pause();
    });
    REQUIRE(run.wait_ready());
    ::kill(-run.pid(), SIGINT);
    const auto status = run.end(5s);
    REQUIRE(status);
    CHECK((WIFSIGNALED(*status) && WTERMSIG(*status) == SIGINT));
    CHECK(all_gone());
    CHECK(run.text().empty());
    CHECK(test_support::shared_memory_entries(run.pid()).empty());
}

TEST_CASE("SIGTERM to the group lets main finish what it wants to save", "[loader][B002]") {
    static volatile sig_atomic_t asked = 0;
    trainer run([](int ready) {
        std::signal(SIGTERM, [](int) { asked = 1; });
        loader source{steady_numbers(400), {.batch_size = 4, .num_workers = 2}};
        std::vector<pid_t> workers;
        const auto values = values_of(source, [&](std::size_t count) {
            if (count == 40) {
                holds_within(5s, [&] { return source.worker_processes().size() == 2; });
                workers = source.worker_processes();
                say_ready(ready);
                holds_within(5s, [] { return asked != 0; });
            }
        });
        if (values == first_integers(400) && workers == source.worker_processes() && asked == 1)
            ::_exit(5);
    });
    REQUIRE(run.wait_ready());
    ::kill(-run.pid(), SIGTERM);
    const auto status = run.end(20s);
    REQUIRE(status);
    CHECK((WIFEXITED(*status) && WEXITSTATUS(*status) == 5));
    CHECK(all_gone());
    CHECK(run.text().empty());
}

namespace {

/// Reads 120 samples, of 5 ms each, with a time limit of 400 ms a batch, while it is stopped and
/// continued. Leaves with 5 when all came, by the same workers.
void train_while_stopped(int ready) {
    loader source{slow_numbers{120, [](stoker::index) { return 5; }},
                  {.batch_size = 4, .num_workers = 2, .timeout = 400ms}};
    std::vector<pid_t> workers;
    const auto values = values_of(source, [&](std::size_t count) {
        if (count != 20)
            return;
        holds_within(5s, [&] { return source.worker_processes().size() == 2; });
        workers = source.worker_processes();
        say_ready(ready);
    });
    ::_exit(values == first_integers(120) && workers == source.worker_processes() ? 5 : 6);
}

}  // namespace

TEST_CASE("stopping and continuing harms nobody", "[loader]") {
    struct history {
        int signal;
        bool stop_all;
        bool continue_all;
        std::chrono::milliseconds pause;
    };
    const auto [signal, stop_all, continue_all, pause] =
        GENERATE(history{SIGTSTP, true, true, 1500ms}, history{SIGSTOP, true, true, 600ms},
                 history{SIGSTOP, false, false, 1500ms}, history{SIGSTOP, true, false, 1500ms});
    CAPTURE(signal, stop_all, continue_all);
    trainer run(train_while_stopped);
    REQUIRE(run.wait_ready());
    ::kill(stop_all ? -run.pid() : run.pid(), signal);
    std::this_thread::sleep_for(pause);
    ::kill(continue_all ? -run.pid() : run.pid(), SIGCONT);
    const auto status = run.end(20s);
    REQUIRE(status);
    CHECK((WIFEXITED(*status) && WEXITSTATUS(*status) == 5));
    CHECK(run.text().empty());
    CHECK(all_gone());
}

namespace {

std::atomic<int> ended_children = 0;

}  // namespace

TEST_CASE("the host's children and its SIGCHLD stay its own", "[loader][B013]") {
    const auto outcome = test_support::run_child([](std::ostream& out) {
        std::signal(SIGCHLD, [](int) { ++ended_children; });
        loader source{steady_numbers(200), {.batch_size = 4, .num_workers = 2}};
        const int before = ended_children;  // a sanitized fork passes through a child
        pid_t child = 0;
        const auto values = values_of(source, [&](std::size_t count) {
            if (count == 40) {
                child = ::fork();
                if (child == 0)
                    ::_exit(7);
            }
            if (count == 80)
                ::kill(source.worker_processes().at(0), SIGKILL);
        });
        int status = 0;
        const pid_t reaped = ::waitpid(child, &status, 0);
        const bool as_it_was = reaped == child && WIFEXITED(status) && WEXITSTATUS(status) == 7;
        out << values.size() << " values, " << ended_children - before << " signals, status "
            << status;
        return values == first_integers(200) && as_it_was && ended_children - before == 1 &&
                       ::wait(nullptr) == -1
                   ? 0
                   : 1;
    });
    CAPTURE(outcome.text);
    CHECK(outcome.succeeded());
}

namespace {

/// Each sample is the sum of an epoch of a loader of its own.
struct nested_numbers {
    std::size_t size() const { return 6; }
    number get(stoker::index i) const {
        loader inner{numbers{10}, {.batch_size = 3, .num_workers = 2}};
        std::int64_t sum = 0;
        while (const auto batch = inner.next_blocking()) {
            for (const std::int64_t value : batch[&number::value])
                sum += value;
        }
        return {sum + static_cast<std::int64_t>(i), 0};
    }
};

/// As above, but it never ends.
struct endless_nested_numbers {
    std::size_t size() const { return 6; }
    number get(stoker::index) const {
        loader inner{steady_numbers(1'000'000), {.batch_size = 3, .num_workers = 2}};
        while (inner.next_blocking()) {
        }
        return {};
    }
};

}  // namespace

TEST_CASE("a loader in a worker of another one works", "[loader][B012]") {
    const auto outcome = test_support::run_child(
        [](std::ostream& out) {
            {
                loader source{nested_numbers{}, {.batch_size = 1, .num_workers = 2}};
                const auto values = values_of(source, [](std::size_t) {});
                if (values != std::vector<std::int64_t>{45, 46, 47, 48, 49, 50}) {
                    out << values.size() << " values";
                    return 1;
                }
            }
            return all_gone() ? 0 : 2;
        },
        30s);
    CAPTURE(outcome.text);
    CHECK(outcome.succeeded());
}

TEST_CASE("and ends with it, however that one ends", "[loader][B012]") {
    const bool kill_main = GENERATE(true, false);
    trainer run([](int ready) {
        loader source{endless_nested_numbers{}, {.batch_size = 1, .num_workers = 2}};
        std::thread([&] {  // 2 workers, their fork server, and 2 × 3 of the inner loaders
            holds_within(10s, [] { return test_support::descendants().size() >= 9; });
            say_ready(ready);
        })
            .detach();
        (void)source.next_blocking();
    });
    REQUIRE(run.wait_ready());
    if (kill_main) {
        ::kill(run.pid(), SIGKILL);
    } else {
        for (const auto& each : test_support::descendants()) {
            if (each.name.ends_with(":w0") || each.name.ends_with(":w1"))
                ::kill(each.pid, SIGKILL);
        }
        ::kill(run.pid(), SIGKILL);
    }
    CHECK(run.end(5s));
    CHECK(all_gone());
}

TEST_CASE("a loader closes in time after a time-out and killed workers", "[loader][B004]") {
    std::optional<errc> told;
    std::chrono::steady_clock::time_point closing;
    {
        loader source{slow_numbers{8, [](stoker::index) { return 600'000; }},
                      {.batch_size = 1, .num_workers = 2, .timeout = 300ms}};
        REQUIRE(holds_within(5s, [&] { return source.worker_processes().size() == 2; }));
        try {
            (void)source.next_blocking();
        } catch (const error& failure) {
            told = failure.code();
        }
        for (const pid_t worker : source.worker_processes())
            ::kill(worker, SIGKILL);
        closing = std::chrono::steady_clock::now();
    }
    CHECK(told == errc::timed_out);
    CHECK(std::chrono::steady_clock::now() - closing < 5s);
    CHECK(all_gone());
}

TEST_CASE("the end of an epoch waits for no interval", "[loader][B007]") {
    loader source{numbers{160}, {.batch_size = 2, .num_workers = 2, .persistent_workers = false}};
    std::vector<std::chrono::steady_clock::duration> ends;
    for (int epoch = 0; epoch < 10; ++epoch) {
        auto last = std::chrono::steady_clock::now();
        values_of(source, [&](std::size_t) { last = std::chrono::steady_clock::now(); });
        ends.push_back(std::chrono::steady_clock::now() - last);
    }
    std::sort(ends.begin(), ends.end());
    CHECK(ends[5] < 200ms);  // the median: the machine has other work
}

namespace {

struct closed_store {
    std::size_t size() const { return 10; }
    void open() const { throw std::runtime_error("the store is closed"); }
    number get(stoker::index) const { return {}; }
};

}  // namespace

TEST_CASE("why workers could not start is told each of a hundred times", "[loader][B009]") {
    int told = 0;
    for (int round = 0; round < 100; ++round) {
        loader source{closed_store{}, {.batch_size = 1, .num_workers = 2}};
        try {
            (void)source.next_blocking();
        } catch (const error& failure) {
            if (failure.code() == errc::worker_start_failed && failure.worker() >= 0 &&
                failure.text().find("the store is closed") != std::string::npos)
                ++told;
        }
    }
    CHECK(told == 100);
}
