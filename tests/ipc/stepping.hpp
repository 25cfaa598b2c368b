#pragma once
// Kills or stops one side after every single instruction of its way through gate and queue, and
// watches what becomes of the other. The side under test is traced and single-stepped k
// instructions far, for every k; the survivor is a process of its own, so that a hang is a process
// to kill and not the end of the test.
//
// Stepping begins at the process's SIGSTOP right before the call and ends with its exit, so each
// sweep covers {enter, call, leave, ring} and a few instructions more. Link with -z now, so that
// symbol binding is not among them.

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "core/system.hpp"
#include "ipc/gated_queue.hpp"
#include "support/instrumented.hpp"

namespace stoker::test_support {

/// Messages that each queue of a `fixture` holds.
inline constexpr std::size_t capacity = 8;

/// A pair of queues, words and bells, for one run.
struct fixture {
    fixture() : control(detail::control_block::create(1)), names(detail::make_queue_names()) {
        detail::create_queue(names.tasks, capacity, sizeof(detail::task_message));
        detail::create_queue(names.results, capacity, sizeof(detail::result_message));
    }
    ~fixture() {
        detail::unlink_queue(names.tasks);
        detail::unlink_queue(names.results);
    }
    fixture(const fixture&) = delete;
    fixture& operator=(const fixture&) = delete;

    /// The words as a forked process sees them: the parent's mapping does not reach it.
    detail::control_block words_here() const {
        return detail::control_block::open(detail::descriptor{::dup(control.memory_descriptor())},
                                           1);
    }

    detail::control_block control;
    detail::queue_names names;
    detail::doorbell main_bell = detail::doorbell::create();
    detail::doorbell worker_bell = detail::doorbell::create();
};

/// What the survivor found; its exit status.
enum finding : int {
    fine = 10,
    found_lost = 11,
    found_withdrawn = 12,
    found_torn = 13,
    found_wrong = 14,
};

struct tally {
    int points = 0;
    int went_on = 0;
    int lost = 0;
    int withdrawn = 0;
    int torn = 0;
    int wrong = 0;
    int hung = 0;
    int bell_lost = 0;
    bool refused = false;  ///< ptrace is not allowed here
};

using action = std::function<void(const fixture&)>;
using judgement = std::function<int(const fixture&, pid_t peer)>;

enum class fate { killed, stopped };

struct sweep {
    action prepare;      ///< in the test's process, before anything runs
    action stepped;      ///< in the traced process
    judgement survivor;  ///< in the surviving process
    fate what = fate::killed;
    int stride = 1;
    int survivor_limit_ms = 20'000;
    int enough_hung = 1;  ///< hangs after which a sweep is over
};

/// A traced process that stands before its call; -1: ptrace is refused.
inline pid_t start_traced(const fixture& world, const action& stepped) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(120);
        if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0)
            ::_exit(77);
        stepped(world);
        ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    if (WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP) {
        ::ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_EXITKILL);
        return child;
    }
    if (WIFSTOPPED(status)) {
        ::kill(child, SIGKILL);
        ::waitpid(child, &status, 0);
    }
    return -1;
}

/// Steps that far; false: the process has ended before.
inline bool step_through(pid_t child, int steps) {
    for (int i = 0; i < steps; ++i) {
        int status = 0;
        if (::ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr) != 0)
            return false;
        if (::waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
            return false;
    }
    return true;
}

/// Runs the survivor; its finding, or -1 when it hung.
inline int run_survivor(const fixture& world, const sweep& plan, pid_t peer) {
    const pid_t survivor = ::fork();
    if (survivor == 0) {
        int found = found_wrong;
        try {
            found = plan.survivor(world, peer);
        } catch (...) {
            found = found_wrong;
        }
        ::_exit(found);
    }
    const detail::descriptor pidfd = detail::system::pidfd_open(survivor, "a survivor");
    const bool ended =
        detail::system::wait_readable(pidfd.get(), plan.survivor_limit_ms, "a survivor");
    if (!ended)
        ::kill(survivor, SIGKILL);
    int status = 0;
    ::waitpid(survivor, &status, 0);
    if (!ended)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : int(found_wrong);
}

inline void count(tally& seen, int found) {
    switch (found) {
        case fine:
            ++seen.went_on;
            break;
        case found_lost:
            ++seen.lost;
            break;
        case found_withdrawn:
            ++seen.withdrawn;
            break;
        case found_torn:
            ++seen.torn;
            break;
        case -1:
            ++seen.hung;
            break;
        default:
            ++seen.wrong;
            break;
    }
}

inline tally run(const sweep& plan) {
    tally seen;
    for (int steps = 0;; steps += plan.stride) {
        const fixture world;
        plan.prepare(world);
        const pid_t child = start_traced(world, plan.stepped);
        if (child < 0) {
            seen.refused = true;
            return seen;
        }
        if (!step_through(child, steps)) {
            ::kill(child, SIGKILL);
            ::waitpid(child, nullptr, 0);
            return seen;
        }
        ++seen.points;
        int status = 0;
        if (plan.what == fate::killed) {
            ::kill(child, SIGKILL);
            // Not reaped yet: a pid that is a zombie cannot be anybody else's.
            siginfo_t info{};
            ::waitid(P_PID, id_t(child), &info, WEXITED | WNOWAIT);
        }
        const int found = run_survivor(world, plan, child);
        count(seen, found);
        if (plan.what == fate::stopped) {
            ::ptrace(PTRACE_DETACH, child, nullptr, SIGCONT);
            // Whoever withdrew may sleep: the stopped side, once it goes on, must ring.
            if (found == found_withdrawn &&
                !detail::system::wait_readable(world.main_bell.number(), 20'000, "main's bell")) {
                ++seen.bell_lost;
            }
            ::kill(child, SIGKILL);
        }
        ::waitpid(child, &status, 0);
        if (seen.hung >= plan.enough_hung)
            return seen;
    }
}

}  // namespace stoker::test_support
