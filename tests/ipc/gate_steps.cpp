// Either side killed or stopped at every instruction: the other must go on, never hang, never read
// a torn message. stepping.hpp says how.

#include "ipc/stepping.hpp"

#include <boost/interprocess/ipc/message_queue.hpp>
#include <cstring>
#include <type_traits>

#include "support/catch.hpp"

using namespace stoker::detail;
using namespace stoker::test_support;

namespace {

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
            .gaps = std::uint32_t(number * 23)};
}
template <class Message>
bool same(const Message& a, const Message& b) {
    return std::memcmp(&a, &b, sizeof a) == 0;  // no padding in either
}
static_assert(std::has_unique_object_representations_v<result_message>);
static_assert(std::has_unique_object_representations_v<task_message>);

// The sides.

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
        return;  // a sanitizer's instructions would be stepped through as well
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
