#include "ipc/gated_queue.hpp"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <type_traits>

#include <stoker/core/error.hpp>
#include "core/system.hpp"
#include "ipc/queue_pair.hpp"
#include "support/catch.hpp"

using namespace stoker::detail;
using namespace stoker::test_support;

static_assert(std::is_nothrow_move_constructible_v<main_sender>);
static_assert(std::is_nothrow_move_assignable_v<main_receiver>);
static_assert(std::is_nothrow_move_constructible_v<worker_receiver>);
static_assert(!std::is_copy_constructible_v<worker_sender>);
static_assert(std::is_trivially_copyable_v<task_message> && sizeof(task_message) <= 64);
static_assert(std::is_trivially_copyable_v<result_message> && sizeof(result_message) <= 64);

namespace {

bool is_readable(const doorbell& bell) {
    pollfd entry{.fd = bell.number(), .events = POLLIN, .revents = 0};
    return ::poll(&entry, 1, 0) == 1;
}

task_message make_task(std::uint64_t number) {
    return {.sequence = number, .epoch = number * 3, .slot = std::uint32_t(number * 5)};
}

/// The worker of the sleeping test: answers so many tasks, sleeping whenever there is none. The
/// number of sleeps that no bell ended.
int answer(worker_receiver& tasks, worker_sender& results, const doorbell& bell,
           std::uint64_t count) {
    int lost = 0;
    for (std::uint64_t done = 0; done < count;) {
        task_message task;
        attempt found = tasks.try_receive(task);
        if (found == attempt::nothing) {
            tasks.want_bell();
            found = tasks.try_receive(task);
        }
        if (found == attempt::nothing) {
            if (!system::wait_readable(bell.number(), 5'000, "a task"))
                ++lost;
            bell.clear();
            continue;
        }
        if (found != attempt::done || task.sequence != done)
            return 100;
        if (results.try_send({.sequence = task.sequence, .slot = task.slot}) != attempt::done) {
            return 101;
        }
        ++done;
    }
    return lost;
}

struct main_outcome {
    std::uint64_t received = 0;
    std::uint64_t withdrawn = 0;
    std::uint64_t slept = 0;
    int lost = 0;
    bool in_order = true;
};

/// Main of the sleeping test: keeps `window` tasks outstanding, sleeps whenever it can do nothing.
main_outcome ask(main_sender& tasks, main_receiver& results, const doorbell& bell,
                 std::uint64_t count, std::uint64_t window) {
    main_outcome seen;
    std::uint64_t sent = 0;
    while (seen.received < count && seen.lost < 3) {
        while (sent < count && sent - seen.received < window) {
            const attempt outcome = tasks.try_send(make_task(sent));
            if (outcome == attempt::withdrawn)
                ++seen.withdrawn;
            if (outcome != attempt::done)
                break;
            ++sent;
        }
        result_message result;
        attempt found = results.try_receive(result);
        if (found == attempt::nothing) {
            results.want_bell();
            found = results.try_receive(result);
        }
        if (found == attempt::done) {
            seen.in_order = seen.in_order && result.sequence == seen.received;
            ++seen.received;
            continue;
        }
        if (found == attempt::withdrawn)
            ++seen.withdrawn;
        ++seen.slept;
        if (!system::wait_readable(bell.number(), 5'000, "a result"))
            ++seen.lost;
        bell.clear();
    }
    return seen;
}

}  // namespace

TEST_CASE("tasks and results arrive whole and in order", "[ipc]") {
    both_sides pair;
    for (std::uint64_t number = 0; number < 5; ++number) {
        REQUIRE(pair.sends_tasks.try_send(make_task(number)) == attempt::done);
    }
    for (std::uint64_t number = 0; number < 5; ++number) {
        task_message task;
        REQUIRE(pair.takes_tasks.try_receive(task) == attempt::done);
        CHECK(task.sequence == number);
        CHECK(task.epoch == number * 3);
        CHECK(task.slot == number * 5);
        REQUIRE(pair.sends_results.try_send({.sequence = number, .data_bytes = number << 40}) ==
                attempt::done);
    }
    for (std::uint64_t number = 0; number < 5; ++number) {
        result_message result;
        CHECK(pair.takes_results.likely_ready());
        REQUIRE(pair.takes_results.try_receive(result) == attempt::done);
        CHECK(result.sequence == number);
        CHECK(result.data_bytes == number << 40);
    }
    CHECK_FALSE(pair.takes_results.likely_ready());
}

TEST_CASE("an empty queue gives nothing and a full one takes nothing", "[ipc]") {
    both_sides pair;
    task_message task;
    result_message result;
    CHECK(pair.takes_tasks.try_receive(task) == attempt::nothing);
    CHECK(pair.takes_results.try_receive(result) == attempt::nothing);
    for (std::size_t i = 0; i < capacity; ++i) {
        REQUIRE(pair.sends_tasks.try_send({}) == attempt::done);
        REQUIRE(pair.sends_results.try_send({}) == attempt::done);
    }
    CHECK(pair.sends_tasks.try_send({}) == attempt::nothing);
    CHECK(pair.sends_results.try_send({}) == attempt::nothing);
    CHECK(pair.takes_tasks.try_receive(task) == attempt::done);
    CHECK(pair.sends_tasks.try_send({}) == attempt::done);
}

TEST_CASE("bells ring only for those who asked", "[ipc]") {
    both_sides pair;
    pair.sends_tasks.try_send({});
    pair.sends_results.try_send({});
    CHECK_FALSE(is_readable(pair.worker_bell));
    CHECK_FALSE(is_readable(pair.main_bell));
    pair.takes_tasks.want_bell();
    pair.takes_results.want_bell();
    pair.sends_tasks.try_send({});
    pair.sends_results.try_send({});
    CHECK(is_readable(pair.worker_bell));
    CHECK(is_readable(pair.main_bell));
}

TEST_CASE("main withdraws from a worker inside, and is rung when it leaves empty-handed", "[ipc]") {
    both_sides pair;
    // The worker went in for a task that it was told of, and stands there.
    pair.words().tasks.worker_inside = 1;
    CHECK(pair.sends_tasks.try_send({}) == attempt::withdrawn);
    CHECK(pair.words().tasks.wanted_by_main.load() == 1);
    CHECK(pair.words().tasks.main_inside.load() == 0);
    CHECK(pair.words().tasks_sent.load() == 0);
    pair.words().tasks_sent = 1;  // so that it looks into the queue, which is empty
    task_message task;
    CHECK(pair.takes_tasks.try_receive(task) == attempt::nothing);
    CHECK(is_readable(pair.main_bell));
    CHECK(pair.sends_tasks.try_send({}) == attempt::done);
}

TEST_CASE("main withdraws from a receive too, and takes the result later", "[ipc]") {
    both_sides pair;
    pair.sends_results.try_send({.sequence = 4});
    pair.words().results.worker_inside = 1;
    result_message result;
    CHECK(pair.takes_results.try_receive(result) == attempt::withdrawn);
    pair.sends_results.try_send({.sequence = 5});
    CHECK(is_readable(pair.main_bell));
    CHECK(pair.takes_results.try_receive(result) == attempt::done);
    CHECK(result.sequence == 4);
}

TEST_CASE("a dead worker's flag and counter are ignored", "[ipc]") {
    both_sides pair;
    pair.sends_results.try_send({.sequence = 4});
    pair.words().results.worker_inside = 1;  // it died after its call, before lowering the flag
    pair.words().results_sent = 0;           // and before it counted
    result_message result;
    CHECK(pair.takes_results.try_receive(result) == attempt::nothing);
    pair.takes_results.peer_is_dead();
    CHECK(pair.takes_results.try_receive(result) == attempt::done);
    CHECK(result.sequence == 4);
    CHECK(pair.takes_results.try_receive(result) == attempt::nothing);
}

TEST_CASE("a worker's counter that lies costs a look and nothing else", "[ipc]") {
    both_sides pair;
    pair.words().results_sent = 1'000'000;
    result_message result;
    CHECK(pair.takes_results.try_receive(result) == attempt::nothing);
    CHECK(pair.takes_results.try_receive(result) == attempt::nothing);
}

TEST_CASE("a queue that does not exist is an error with its name", "[ipc]") {
    const control_block control = control_block::create(1);
    const doorbell bell = doorbell::create();
    CHECK_THROWS_WITH(main_sender("stoker-none.tasks", control.worker(0), bell),
                      Catch::Matchers::ContainsSubstring("/dev/shm/stoker-none.tasks"));
}

TEST_CASE("halves go on working when the name is gone and when they are moved", "[ipc]") {
    both_sides pair;
    pair.unlink();
    main_sender moved = std::move(pair.sends_tasks);
    CHECK_FALSE(pair.sends_tasks);
    CHECK(moved.try_send(make_task(3)) == attempt::done);
    main_sender assigned;
    assigned = std::move(moved);
    CHECK(assigned.try_send(make_task(4)) == attempt::done);
    worker_receiver receiver = std::move(pair.takes_tasks);
    task_message task;
    CHECK(receiver.try_receive(task) == attempt::done);
    CHECK(receiver.try_receive(task) == attempt::done);
    CHECK(task.sequence == 4);
}

TEST_CASE("two processes that both go to sleep lose no wake-up", "[ipc]") {
    const std::uint64_t window = GENERATE(as<std::uint64_t>{}, 1, 3, 16);
    constexpr std::uint64_t count = 60'000;
    queue_pair pair;
    main_sender tasks(pair.names.tasks, pair.words(), pair.worker_bell);
    main_receiver results(pair.names.results, pair.words(), pair.worker_bell);
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(100);
        const auto control =
            control_block::open(descriptor{::dup(pair.control.memory_descriptor())}, 1);
        worker_receiver takes(pair.names.tasks, control.worker(0), pair.main_bell);
        worker_sender sends(pair.names.results, control.worker(0), pair.main_bell);
        ::_exit(answer(takes, sends, pair.worker_bell, count));
    }
    REQUIRE(child > 0);
    const main_outcome seen = ask(tasks, results, pair.main_bell, count, window);
    int status = 0;
    ::waitpid(child, &status, 0);
    CAPTURE(window, seen.withdrawn, seen.slept);
    CHECK(seen.received == count);
    CHECK(seen.in_order);
    CHECK(seen.lost == 0);
    CHECK(seen.slept > 0);
    REQUIRE(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("two threads that both go to sleep lose no wake-up", "[ipc]") {
    constexpr std::uint64_t count = 20'000;
    both_sides pair;
    int lost_in_worker = -1;
    std::thread worker([&] {
        lost_in_worker = answer(pair.takes_tasks, pair.sends_results, pair.worker_bell, count);
    });
    const main_outcome seen = ask(pair.sends_tasks, pair.takes_results, pair.main_bell, count, 8);
    worker.join();
    CHECK(seen.received == count);
    CHECK(seen.in_order);
    CHECK(seen.lost == 0);
    CHECK(lost_in_worker == 0);
}
