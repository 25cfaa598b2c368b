// One side is killed, or stopped, after every single instruction of its way through gate and queue;
// the other side must go on: never hang, never read a torn message. The side under test is traced
// and single-stepped k instructions far, for every k; the survivor is a process of its own, so that
// a hang is a process to kill and not the end of the test.
//
// Stepping begins at the process's SIGSTOP right before the call and ends with its exit, so each
// sweep covers {enter, call, leave, ring} and a few instructions more. Linked with -z now, so that
// symbol binding is not among them.

#include <poll.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/interprocess/exceptions.hpp>
#include <boost/interprocess/ipc/message_queue.hpp>
#include <functional>

#include "core/system.hpp"
#include "ipc/gated_queue.hpp"
#include "support/catch.hpp"

using namespace stoker::detail;

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool instrumented = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool instrumented = true;
#else
constexpr bool instrumented = false;
#endif
#else
constexpr bool instrumented = false;
#endif

constexpr std::size_t capacity = 8;
constexpr std::uint64_t sent_before = 2;  ///< messages in the queue when stepping begins

/// Message number n has every byte derived from n.
result_message make_result(std::uint64_t number) {
    return {.sequence = number,
            .data_bytes = number * 0x0101010101010101U,
            .slot = std::uint32_t(number * 3),
            .status = std::uint32_t(number * 5)};
}
task_message make_task(std::uint64_t number) {
    return {.sequence = number,
            .generation = number * 7,
            .epoch = number * 11,
            .first_position = number * 13,
            .slot = std::uint32_t(number * 17),
            .index_count = std::uint32_t(number * 19),
            .kind = 0,
            .reserved = std::uint32_t(number * 23)};
}
template <class Message>
bool same(const Message& a, const Message& b) {
    return std::memcmp(&a, &b, sizeof a) == 0;  // no padding in either
}
static_assert(std::has_unique_object_representations_v<result_message>);
static_assert(std::has_unique_object_representations_v<task_message>);

/// A pair of queues, words and bells, for one run.
struct fixture {
    fixture() : control(control_block::create(1)), names(make_queue_names()) {
        create_queue(names.tasks, capacity, sizeof(task_message));
        create_queue(names.results, capacity, sizeof(result_message));
    }
    ~fixture() {
        unlink_queue(names.tasks);
        unlink_queue(names.results);
    }
    fixture(const fixture&) = delete;
    fixture& operator=(const fixture&) = delete;

    /// The words as a forked process sees them: the parent's mapping does not reach it.
    control_block words_here() const {
        return control_block::open(descriptor{::dup(control.memory_descriptor())}, 1);
    }

    control_block control;
    queue_names names;
    doorbell main_bell = doorbell::create();
    doorbell worker_bell = doorbell::create();
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
pid_t start_traced(const fixture& world, const action& stepped) {
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
    ::kill(child, SIGKILL);
    ::waitpid(child, &status, 0);
    return -1;
}

/// Steps that far; false: the process has ended before.
bool step_through(pid_t child, int steps) {
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
int run_survivor(const fixture& world, const sweep& plan, pid_t peer) {
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
    const descriptor pidfd = system::pidfd_open(survivor, "a survivor");
    const bool ended = system::wait_readable(pidfd.get(), plan.survivor_limit_ms, "a survivor");
    if (!ended)
        ::kill(survivor, SIGKILL);
    int status = 0;
    ::waitpid(survivor, &status, 0);
    if (!ended)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : int(found_wrong);
}

void count(tally& seen, int found) {
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

tally run(const sweep& plan) {
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
                !system::wait_readable(world.main_bell.number(), 20'000, "main's bell")) {
                ++seen.bell_lost;
            }
            ::kill(child, SIGKILL);
        }
        ::waitpid(child, &status, 0);
        if (seen.hung >= plan.enough_hung)
            return seen;
    }
}

// ---- The sides -------------------------------------------------------------------------------

void stop_here() {
    ::raise(SIGSTOP);
}

void publish_two_results(const fixture& world) {
    worker_sender sender(world.names.results, world.control.worker(0), world.main_bell);
    for (std::uint64_t number = 0; number < sent_before; ++number) {
        sender.try_send(make_result(number));
    }
    world.control.worker(0).results.wanted_by_main = 1;  // so that the ring is stepped through
}

void worker_sends(const fixture& world) {
    const control_block control = world.words_here();
    worker_sender sender(world.names.results, control.worker(0), world.main_bell);
    stop_here();
    sender.try_send(make_result(sent_before));
}

/// Main with a dead worker: takes all that was published.
int main_drains(const fixture& world, pid_t) {
    const control_block control = world.words_here();
    main_receiver receiver(world.names.results, control.worker(0), world.worker_bell);
    receiver.peer_is_dead();
    for (std::uint64_t number = 0;; ++number) {
        result_message message;
        const attempt result = receiver.try_receive(message);
        if (result == attempt::lost)
            return found_lost;
        if (result == attempt::nothing)
            return number >= sent_before ? fine : found_wrong;
        if (result != attempt::done || number > sent_before)
            return found_wrong;
        if (!same(message, make_result(number)))
            return found_torn;
    }
}

/// Main with a stopped worker: one look.
int main_looks(const fixture& world, pid_t) {
    const control_block control = world.words_here();
    main_receiver receiver(world.names.results, control.worker(0), world.worker_bell);
    result_message message;
    const attempt result = receiver.try_receive(message);
    if (result == attempt::withdrawn)
        return found_withdrawn;
    if (result != attempt::done)
        return found_wrong;
    return same(message, make_result(0)) ? fine : found_torn;
}

void queue_two_tasks(const fixture& world) {
    main_sender sender(world.names.tasks, world.control.worker(0), world.worker_bell);
    for (std::uint64_t number = 0; number < sent_before; ++number) {
        sender.try_send(make_task(number));
    }
    world.control.worker(0).tasks.wanted_by_main = 1;
}

void worker_receives(const fixture& world) {
    const control_block control = world.words_here();
    worker_receiver receiver(world.names.tasks, control.worker(0), world.main_bell);
    task_message message;
    stop_here();
    receiver.try_receive(message);
}

int main_sends(const fixture& world, pid_t, bool worker_is_dead) {
    const control_block control = world.words_here();
    main_sender sender(world.names.tasks, control.worker(0), world.worker_bell);
    if (worker_is_dead)
        sender.peer_is_dead();
    switch (sender.try_send(make_task(sent_before))) {
        case attempt::done:
            return fine;
        case attempt::withdrawn:
            return found_withdrawn;
        case attempt::lost:
            return found_lost;
        default:
            return found_wrong;
    }
}

void main_sends_traced(const fixture& world) {
    const control_block control = world.words_here();
    control.worker(0).tasks.wanted_by_worker = 1;
    main_sender sender(world.names.tasks, control.worker(0), world.worker_bell);
    stop_here();
    sender.try_send(make_task(sent_before));
}

void main_receives_traced(const fixture& world) {
    const control_block control = world.words_here();
    main_receiver receiver(world.names.results, control.worker(0), world.worker_bell);
    result_message message;
    stop_here();
    receiver.try_receive(message);
}

/// A worker whose main was killed: it must come to an end, whatever it gets.
int worker_takes_tasks(const fixture& world, pid_t main_process) {
    const control_block control = world.words_here();
    const descriptor pidfd = system::pidfd_open(main_process, "main");
    worker_receiver receiver(world.names.tasks, control.worker(0), world.main_bell);
    receiver.watch_main(pidfd.get());
    task_message message;
    for (std::uint64_t number = 0; number <= capacity; ++number) {
        const attempt result = receiver.try_receive(message);
        if (result == attempt::lost)
            return found_lost;
        if (result == attempt::nothing)
            return fine;
        if (!same(message, make_task(number)))
            return found_torn;
    }
    return found_wrong;
}

int worker_adds_result(const fixture& world, pid_t main_process) {
    const control_block control = world.words_here();
    const descriptor pidfd = system::pidfd_open(main_process, "main");
    worker_sender sender(world.names.results, control.worker(0), world.main_bell);
    sender.watch_main(pidfd.get());
    switch (sender.try_send(make_result(sent_before))) {
        case attempt::done:
            return fine;
        case attempt::lost:
            return found_lost;
        default:
            return found_wrong;
    }
}

// The control: the same queue without a gate.

using bare_queue = boost::interprocess::message_queue;

void send_without_gate(const fixture& world) {
    bare_queue queue(boost::interprocess::open_only, world.names.results.c_str());
    const result_message message = make_result(sent_before);
    stop_here();
    queue.try_send(&message, sizeof message, 0);
}

int receive_without_gate(const fixture& world, pid_t) {
    bare_queue queue(boost::interprocess::open_only, world.names.results.c_str());
    result_message message;
    bare_queue::size_type bytes = 0;
    unsigned priority = 0;
    queue.try_receive(&message, sizeof message, bytes, priority);
    return fine;
}

bool can_step(const tally& seen) {
    if (instrumented)
        return false;
    if (seen.refused)
        WARN("skipped: ptrace is refused here");
    return !seen.refused;
}

void report(const char* what, const tally& seen) {
    INFO(what << ": " << seen.points << " points, went on " << seen.went_on << ", lost "
              << seen.lost << ", withdrawn " << seen.withdrawn << ", torn " << seen.torn
              << ", wrong " << seen.wrong << ", hung " << seen.hung << ", bells lost "
              << seen.bell_lost);
    CHECK(seen.points > 100);
    CHECK(seen.hung == 0);
    CHECK(seen.torn == 0);
    CHECK(seen.wrong == 0);
    CHECK(seen.bell_lost == 0);
}

}  // namespace

TEST_CASE("a worker killed at any instruction of a send holds nobody up", "[ipc][B018]") {
    if (instrumented)
        return;
    const tally seen = run({.prepare = publish_two_results,
                            .stepped = worker_sends,
                            .survivor = main_drains,
                            .what = fate::killed});
    if (!can_step(seen))
        return;
    report("worker killed while sending", seen);
    CHECK(seen.lost > 0);  // some deaths fall inside the queue: the sweep did cover it
    CHECK(seen.went_on > 0);
}

TEST_CASE("a worker stopped at any instruction of a send holds nobody up", "[ipc][B018]") {
    if (instrumented)
        return;
    const tally seen = run({.prepare = publish_two_results,
                            .stepped = worker_sends,
                            .survivor = main_looks,
                            .what = fate::stopped});
    if (!can_step(seen))
        return;
    report("worker stopped while sending", seen);
    CHECK(seen.withdrawn > 0);
    CHECK(seen.went_on > 0);
}

TEST_CASE("a worker killed at any instruction of a receive holds nobody up", "[ipc][B018]") {
    if (instrumented)
        return;
    const tally seen = run(
        {.prepare = queue_two_tasks,
         .stepped = worker_receives,
         .survivor = [](const fixture& world, pid_t peer) { return main_sends(world, peer, true); },
         .what = fate::killed});
    if (!can_step(seen))
        return;
    report("worker killed while receiving", seen);
    CHECK(seen.lost > 0);
}

TEST_CASE("a worker stopped at any instruction of a receive holds nobody up", "[ipc][B018]") {
    if (instrumented)
        return;
    const tally seen = run({.prepare = queue_two_tasks,
                            .stepped = worker_receives,
                            .survivor = [](const fixture& world,
                                           pid_t peer) { return main_sends(world, peer, false); },
                            .what = fate::stopped});
    if (!can_step(seen))
        return;
    report("worker stopped while receiving", seen);
    CHECK(seen.withdrawn > 0);
}

TEST_CASE("main killed at any instruction of its calls holds no worker up", "[ipc]") {
    if (instrumented)
        return;
    const tally sends = run({.prepare = queue_two_tasks,
                             .stepped = main_sends_traced,
                             .survivor = worker_takes_tasks,
                             .what = fate::killed});
    if (!can_step(sends))
        return;
    report("main killed while sending", sends);
    CHECK(sends.lost > 0);
    const tally receives = run({.prepare = publish_two_results,
                                .stepped = main_receives_traced,
                                .survivor = worker_adds_result,
                                .what = fate::killed});
    report("main killed while receiving", receives);
    CHECK(receives.lost > 0);
}

TEST_CASE("without the gate a stopped worker does hold main up", "[ipc]") {
    if (instrumented)
        return;
    // The control of the tests above: it ends with the second hang.
    const tally seen = run({.prepare = publish_two_results,
                            .stepped = send_without_gate,
                            .survivor = receive_without_gate,
                            .what = fate::stopped,
                            .stride = 8,
                            .survivor_limit_ms = 1'000,
                            .enough_hung = 2});
    if (!can_step(seen))
        return;
    CHECK(seen.hung > 0);
}
