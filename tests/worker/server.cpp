#include "worker/server.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "support/catch.hpp"
#include "support/run_child.hpp"
#include "worker_rig.hpp"

namespace stoker::detail {
namespace {

using namespace std::chrono_literals;
using namespace worker_test;
using test_support::run_child;

std::string first_line(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

bool nothing_left() {
    return test_support::holds_within(5s, [] { return test_support::descendants().empty(); });
}

TEST_CASE("how a worker ended arrives with its status or signal", "[worker]") {
    number_fetcher source([](index i) -> std::int64_t {
        if (i == 3)
            ::_exit(3);
        if (i == 4)
            std::exit(0);
        if (i == 9)
            ::raise(SIGKILL);
        return 0;
    });
    small_main main = start(source, 1);
    struct expectation {
        index sample;
        int code;
        int status;
    };
    for (const auto expected : {expectation{3, CLD_EXITED, 3}, expectation{4, CLD_EXITED, 0},
                                expectation{9, CLD_KILLED, SIGKILL}}) {
        const pid_t pid = main.worker(0).pid;
        main.send(0, {expected.sample});
        CHECK(ends(main.worker(0).pidfd.get()));
        const auto event = main.wait_event(server_event::kind::exited);
        REQUIRE(event);
        CHECK(event->worker == 0);
        CHECK(event->pid == pid);
        CHECK(event->code == expected.code);
        CHECK(event->status == expected.status);
        main.start(0);  // and a replacement works
    }
}

TEST_CASE("a worker that is stopped and goes on is reported both times", "[worker]") {
    number_fetcher source = identity();
    small_main main = start(source, 1);
    ::kill(main.worker(0).pid, SIGSTOP);
    const auto stopped = main.wait_event(server_event::kind::stopped);
    REQUIRE(stopped);
    CHECK(stopped->worker == 0);
    ::kill(main.worker(0).pid, SIGCONT);
    CHECK(main.wait_event(server_event::kind::continued));
    const auto got = main.fetch(0, {5});
    CHECK(got->values == std::vector<std::int64_t>{5});
}

TEST_CASE("killing the fork server ends its workers, and main is told", "[worker]") {
    number_fetcher source([](index) -> std::int64_t {
        for (;;)
            ::pause();
    });
    small_main main = start(source, 2);
    main.send(0, {1});  // one is busy, one idle
    ::kill(main.link().pid(), SIGKILL);
    CHECK(ends(main.link().pidfd(), 2s));
    CHECK(ends(main.worker(0).pidfd.get(), 2s));
    CHECK(ends(main.worker(1).pidfd.get(), 2s));
    try {
        while (true) {
            main.link().try_event();
            test_support::pause_between_looks();
        }
    } catch (const error& failure) {
        CHECK(failure.code() == errc::fork_server_died);
    }
    CHECK_THROWS_AS(main.link().announce(0, {}), error);
    // The server may have died before its workers had opened their queues.
    main.link().close();
    CHECK(test_support::shared_memory_entries(::getpid()).empty());
}

TEST_CASE("closing the lifeline ends server and workers, stopped ones too", "[worker]") {
    number_fetcher source = identity();
    small_main main = start(source, 2);
    SECTION("all running") {}
    SECTION("a stopped worker") {
        ::kill(main.worker(0).pid, SIGSTOP);
    }
    SECTION("a stopped server") {
        ::kill(main.link().pid(), SIGSTOP);
    }
    main.link().close();
    main.link().close();
    CHECK(ends(main.link().pidfd(), 2s));
    CHECK(ends(main.worker(0).pidfd.get(), 2s));
    CHECK(ends(main.worker(1).pidfd.get(), 2s));
    CHECK(nothing_left());
}

/// Runs a small main in a child that then dies by SIGKILL; gives its pid and those of all it made.
std::vector<pid_t> killed_main(const std::function<void(small_main&)>& before_death) {
    int ends_of_pipe[2];
    REQUIRE(::pipe2(ends_of_pipe, O_CLOEXEC) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
        number_fetcher source([](index i) -> std::int64_t {
            while (i == 666)
                ::pause();
            return 0;
        });
        small_main main = start(source, 2);
        const pid_t pids[] = {main.link().pid(), main.worker(0).pid, main.worker(1).pid};
        before_death(main);
        [[maybe_unused]] const auto written = ::write(ends_of_pipe[1], pids, sizeof pids);
        ::kill(::getpid(), SIGKILL);
    }
    ::close(ends_of_pipe[1]);
    std::vector<pid_t> pids(4, child);
    const auto bytes = ::read(ends_of_pipe[0], pids.data() + 1, 3 * sizeof(pid_t));
    ::close(ends_of_pipe[0]);
    ::waitpid(child, nullptr, 0);
    REQUIRE(bytes == 3 * sizeof(pid_t));
    return pids;
}

TEST_CASE("kill -9 of main leaves no process and no name in shared memory", "[worker]") {
    std::vector<pid_t> pids;
    SECTION("while workers are idle") {
        pids = killed_main([](small_main&) {});
    }
    SECTION("while a worker is busy") {
        pids = killed_main([](small_main& main) {
            main.send(0, {666});
            std::this_thread::sleep_for(20ms);
        });
    }
    SECTION("between the creation of queues and the start of their worker") {
        pids = killed_main([](small_main& main) {
            const queue_names names = make_queue_names();
            main.link().announce(0, names);
            create_queue(names.tasks, 4, 64);
            create_queue(names.results, 4, 64);
        });
    }
    SECTION("while a process that it has forked holds its side of the lifeline") {
        pids = killed_main([](small_main&) {
            if (::fork() == 0) {
                ::sleep(20);
                ::_exit(0);
            }
        });
    }
    const auto gone = [&] {
        for (std::size_t i = 1; i < pids.size(); ++i) {
            if (alive(pids[i]))
                return false;
        }
        return test_support::shared_memory_entries(pids[0]).empty();
    };
    CHECK(test_support::holds_within(2s, gone));
    for (const auto& left : test_support::descendants())
        ::kill(left.pid, SIGKILL);
}

TEST_CASE("a later loader's server does not keep an earlier one alive", "[worker]") {
    number_fetcher source = identity();
    std::optional<small_main> first(start(source, 1));
    small_main second = start(source, 1);
    second.fetch(0, {1});
    first->link().close();
    CHECK(ends(first->link().pidfd(), 2s));
    CHECK(ends(first->worker(0).pidfd.get(), 2s));
    const auto got = second.fetch(0, {7});
    CHECK(got->values == std::vector<std::int64_t>{7});
}

TEST_CASE("servers and workers hold none of the host's pipes and sockets", "[worker]") {
    int pipe_ends[2];
    REQUIRE(::pipe(pipe_ends) == 0);
    number_fetcher source = identity();
    small_main main = start(source, 1);
    main.fetch(0, {1});
    ::close(pipe_ends[1]);
    CHECK(system::wait_readable(pipe_ends[0], 2000, "the end of the pipe"));
    ::close(pipe_ends[0]);
}

TEST_CASE("signals to the whole group do not end workers", "[worker]") {
    const auto outcome = run_child([](std::ostream& out) {
        for (const int number : {SIGINT, SIGTERM, SIGHUP})
            std::signal(number, [](int) {});
        number_fetcher source = identity();
        small_main main = start(source, 1);
        main.fetch(0, {1});
        for (const int number : {SIGINT, SIGTERM, SIGHUP})
            ::kill(0, number);
        const auto got = main.fetch(0, {7});
        out << (got && got->values == std::vector<std::int64_t>{7} ? "delivered" : "nothing");
        return 0;
    });
    CHECK(outcome.text == "delivered");
}

TEST_CASE("a handler of the host does not run in workers", "[worker]") {
    static volatile sig_atomic_t ran = 0;
    const auto outcome = run_child([](std::ostream& out) {
        std::signal(SIGINT, [](int) { ran = 1; });
        number_fetcher source([](index) -> std::int64_t {
            ::raise(SIGINT);
            return ran;
        });
        small_main main = start(source, 1);
        const auto got = main.fetch(0, {1});
        out << got->values.at(0);
        return 0;
    });
    CHECK(outcome.text == "0");
}

TEST_CASE("servers and workers are seen by name", "[worker]") {
    number_fetcher source = identity();
    small_main main = start(source, 2);
    main.fetch(1, {1});
    const auto of = [](pid_t pid, const char* what) {
        return first_line("/proc/" + std::to_string(pid) + "/" + what);
    };
    CHECK(of(main.link().pid(), "comm") == "stoker:rig");
    CHECK(of(main.worker(1).pid, "comm") == "stoker:rig:w1");
    CHECK_THAT(of(main.worker(1).pid, "cmdline"),
               Catch::Matchers::ContainsSubstring("stoker:rig:w1"));
}

}  // namespace
}  // namespace stoker::detail
