#include "support/run_child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <sstream>
#include <system_error>

namespace stoker::test_support {
namespace {

using clock = std::chrono::steady_clock;

void write_all(int descriptor, const std::string& text) {
    std::size_t done = 0;
    while (done < text.size()) {
        const auto written = ::write(descriptor, text.data() + done, text.size() - done);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return;
        done += static_cast<std::size_t>(written);
    }
}

[[noreturn]] void run_in_child(const std::function<int(std::ostream&)>& body, int output) {
    ::setpgid(0, 0);
    ::dup2(output, STDOUT_FILENO);
    ::dup2(output, STDERR_FILENO);
    ::close(output);
    int status = 99;
    std::ostringstream out;
    try {
        status = body(out);
    } catch (const std::exception& failure) {
        out << failure.what();
    } catch (...) {
        out << "an exception that is no std::exception";
    }
    std::fflush(nullptr);
    write_all(STDOUT_FILENO, out.str());
    ::_exit(status);
}

/// Reads what has come so far without waiting for more.
void drain(int descriptor, std::string& text) {
    char buffer[4096];
    for (;;) {
        const auto got = ::read(descriptor, buffer, sizeof buffer);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return;
        text.append(buffer, static_cast<std::size_t>(got));
    }
}

/// Collects text until the process behind `pidfd` has ended; false at the time limit.
bool wait_for_end(int pidfd, int output, clock::time_point end, std::string& text) {
    for (;;) {
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(end - clock::now()).count();
        if (left <= 0)
            return false;
        pollfd watched[] = {{pidfd, POLLIN, 0}, {output, POLLIN, 0}};
        const int ready = ::poll(watched, 2, static_cast<int>(left));
        if (ready < 0 && errno != EINTR)
            throw std::system_error(errno, std::generic_category());
        if (ready <= 0)
            continue;
        if ((watched[1].revents & POLLIN) != 0)
            drain(output, text);
        if ((watched[0].revents & POLLIN) != 0)
            return true;
    }
}

}  // namespace

child_outcome run_child(const std::function<int(std::ostream& out)>& body,
                        std::chrono::milliseconds limit) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
        throw std::system_error(errno, std::generic_category());
    ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
    std::fflush(nullptr);
    const pid_t child = ::fork();
    if (child < 0)
        throw std::system_error(errno, std::generic_category());
    if (child == 0) {
        ::close(ends[0]);
        run_in_child(body, ends[1]);
    }
    ::close(ends[1]);
    ::setpgid(child, child);
    const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, child, 0));

    child_outcome outcome;
    outcome.timed_out = !wait_for_end(pidfd, ends[0], clock::now() + limit, outcome.text);
    if (outcome.timed_out) {
        ::kill(-child, SIGKILL);
        ::kill(child, SIGKILL);
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    drain(ends[0], outcome.text);
    ::close(pidfd);
    ::close(ends[0]);
    if (WIFEXITED(status))
        outcome.exit_status = WEXITSTATUS(status);
    if (WIFSIGNALED(status))
        outcome.signal = WTERMSIG(status);
    return outcome;
}

}  // namespace stoker::test_support
