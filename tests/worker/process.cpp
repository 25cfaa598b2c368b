#include "worker/process.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <thread>

#include <stoker/core/error.hpp>
#include "core/descriptor.hpp"
#include "core/system.hpp"
#include "support/catch.hpp"
#include "support/run_child.hpp"

namespace stoker::detail {
namespace {

using test_support::run_child;

bool is_open(int number) {
    return ::fcntl(number, F_GETFD) >= 0;
}

TEST_CASE("a process without threads has none to name", "[worker]") {
    CHECK(other_threads().empty());
    CHECK_NOTHROW(require_single_thread());
}

TEST_CASE("threads are counted, named and gone when they are joined", "[worker]") {
    int go[2];
    REQUIRE(::pipe(go) == 0);
    std::thread thread([&] {
        char byte = 0;
        [[maybe_unused]] const auto got = ::read(go[0], &byte, 1);
    });
    ::pthread_setname_np(thread.native_handle(), "pool-1");
    const auto names = other_threads();
    std::string refusal;
    try {
        require_single_thread();
    } catch (const error& failure) {
        refusal = failure.what();
    }
    [[maybe_unused]] const auto sent = ::write(go[1], "x", 1);
    thread.join();
    ::close(go[0]);
    ::close(go[1]);
    CHECK(std::find(names.begin(), names.end(), "pool-1") != names.end());
    CHECK_THAT(refusal, Catch::Matchers::ContainsSubstring("pool-1"));
}

TEST_CASE("an orphan runs in a process of its own that is nobody's child", "[worker]") {
    const auto outcome = run_child([](std::ostream& out) {
        int ends[2];
        if (::pipe(ends) != 0)
            return 1;
        struct argument {
            int output;
            pid_t parent;
        } given{ends[1], ::getpid()};
        fork_orphan(
            [](void* data) {
                const auto& start = *static_cast<argument*>(data);
                // The middle process may still be ending.
                for (int look = 0; look < 1000 && ::getppid() == start.parent; ++look)
                    ::usleep(1000);
                const pid_t pids[] = {::getpid(), ::getppid()};
                [[maybe_unused]] const auto sent = ::write(start.output, pids, sizeof pids);
            },
            &given);
        pid_t pids[2] = {0, 0};
        const auto got = ::read(ends[0], pids, sizeof pids);
        out << (got == sizeof pids && pids[0] != ::getpid() && pids[1] != ::getpid())
            << (::wait(nullptr) < 0 && errno == ECHILD);
        return 0;
    });
    CHECK(outcome.text == "11");
}

TEST_CASE("signals are blocked for the time of a fork only", "[worker]") {
    sigset_t before;
    sigset_t within;
    sigset_t after;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &before);
    {
        const blocked_signals blocked;
        ::pthread_sigmask(SIG_SETMASK, nullptr, &within);
        CHECK(::sigismember(&blocked.before(), SIGINT) == ::sigismember(&before, SIGINT));
    }
    ::pthread_sigmask(SIG_SETMASK, nullptr, &after);
    CHECK(::sigismember(&within, SIGINT) == 1);
    CHECK(::sigismember(&within, SIGCHLD) == 1);
    CHECK(::sigismember(&after, SIGINT) == ::sigismember(&before, SIGINT));
}

TEST_CASE("handlers of the host go, ignored signals stay ignored", "[worker]") {
    const auto outcome = run_child([](std::ostream& out) {
        std::signal(SIGWINCH, [](int) { ::_exit(77); });
        std::signal(SIGINT, [](int) { ::_exit(77); });
        std::signal(SIGCHLD, SIG_IGN);
        std::signal(SIGPIPE, SIG_IGN);
        std::signal(SIGHUP, SIG_IGN);
        reset_signals();
        const auto handler = [](int number) {
            struct sigaction now {};
            ::sigaction(number, nullptr, &now);
            return now.sa_handler;
        };
        ::raise(SIGINT);
        ::raise(SIGWINCH);
        out << (handler(SIGWINCH) == SIG_DFL) << (handler(SIGCHLD) == SIG_DFL)
            << (handler(SIGPIPE) == SIG_IGN) << (handler(SIGHUP) == SIG_IGN)
            << (handler(SIGINT) != SIG_IGN && handler(SIGINT) != SIG_DFL);
        return 0;
    });
    CHECK(outcome.text == "11111");
}

TEST_CASE("regular files and directories stay open, everything else is closed", "[worker]") {
    const auto outcome = run_child([](std::ostream& out) {
        char path[] = "/tmp/stoker_process_XXXXXX";
        const int file = ::mkstemp(path);
        ::unlink(path);
        const int directory = ::open("/tmp", O_RDONLY | O_DIRECTORY);
        const int ours = ::memfd_create("stoker-slots", 0);
        const int theirs = ::memfd_create("cache", 0);
        int sockets[2];
        ::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets);
        const std::array kept{sockets[0]};
        close_inherited(kept);
        out << is_open(file) << is_open(directory) << is_open(theirs) << is_open(sockets[0])
            << is_open(0) << ' ' << is_open(ours) << is_open(sockets[1]);
        return 0;
    });
    CHECK(outcome.text == "11111 00");
}

TEST_CASE("a reopened file stays at its place and moves alone", "[worker]") {
    const auto outcome = run_child([](std::ostream& out) {
        char path[] = "/tmp/stoker_process_XXXXXX";
        const descriptor writer(::mkstemp(path));
        [[maybe_unused]] const auto sent = ::write(writer.get(), "0123456789", 10);
        const descriptor reader(::open(path, O_RDONLY));
        const descriptor twin(::dup(reader.get()));  // shares the offset, as a fork does
        ::unlink(path);
        ::lseek(reader.get(), 4, SEEK_SET);
        const std::array left_out{twin.get()};
        reopen_inherited_files(left_out);
        char byte = 0;
        [[maybe_unused]] const auto got = ::read(reader.get(), &byte, 1);
        out << byte << ::lseek(reader.get(), 0, SEEK_CUR) << ::lseek(twin.get(), 0, SEEK_CUR)
            << ((::fcntl(reader.get(), F_GETFD) & FD_CLOEXEC) == 0)
            << ::lseek(writer.get(), 0, SEEK_CUR);
        return 0;
    });
    CHECK(outcome.text == "454110");
}

TEST_CASE("a name shows in ps, the arguments stay for whoever holds them", "[worker]") {
    const auto outcome = run_child([](std::ostream& out) {
        const std::string before = program_invocation_name;
        const char* argument = program_invocation_name;
        name_process("stoker:a-rather-long-name:w12");
        std::string comm;
        std::string line;
        std::getline(std::ifstream("/proc/self/comm"), comm);
        std::getline(std::ifstream("/proc/self/cmdline"), line, '\0');
        out << comm << ' ' << line << ' ' << (before == argument);
        return 0;
    });
    CHECK(outcome.text == "stoker:a-ra:w12 stoker:a-rather-long-name:w12 1");
}

TEST_CASE("the short name keeps a worker's number, and characters whole", "[worker]") {
    const auto comm_of = [](const char* name) {
        return run_child([name](std::ostream& out) {
                   name_process(name);
                   std::string comm;
                   std::getline(std::ifstream("/proc/self/comm"), comm);
                   out << comm;
                   return 0;
               })
            .text;
    };
    CHECK(comm_of("stoker:train:w3") == "stoker:train:w3");
    CHECK(comm_of("stoker:validation:w4095") == "stoker:va:w4095");
    CHECK(comm_of("stoker:a-long-server-name") == "stoker:a-long-s");
    CHECK(comm_of("stoker:run:imagenet-large") == "stoker:run:imag");
    CHECK(comm_of("stoker:prüfungen:w1") == "stoker:prüf:w1");
    CHECK(comm_of("stoker:abcüüüüü:w12") == "stoker:abc:w12");
}

TEST_CASE("exit() in a process of ours runs none of the host's handlers", "[worker]") {
    const auto outcome = run_child([](std::ostream&) {
        std::atexit([] { ::_exit(77); });
        leave_on_exit();
        std::printf("flushed");
        std::exit(5);
        return 0;
    });
    CHECK(outcome.exit_status == 5);
    CHECK(outcome.text == "flushed");
}

TEST_CASE("a fork that fails is an error with its reason", "[worker]") {
    const auto outcome = run_child([](std::ostream& out) {
        // Root is not held by the limit.
        if (::geteuid() == 0 && ::setuid(65'534) != 0)
            return 1;
        const rlimit none{0, 0};
        ::setrlimit(RLIMIT_NPROC, &none);
        try {
            fork_orphan([](void*) {}, nullptr);
        } catch (const error& failure) {
            out << failure.what();
        }
        return 0;
    });
    CHECK_THAT(outcome.text, Catch::Matchers::ContainsSubstring("EAGAIN"));
}

}  // namespace
}  // namespace stoker::detail
