#include "ipc/control.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include <stoker/core/error.hpp>
#include "support/catch.hpp"
#include "support/run_child.hpp"

using namespace stoker::detail;

static_assert(std::is_nothrow_move_constructible_v<control_block>);
static_assert(std::is_nothrow_move_assignable_v<control_block>);
static_assert(!std::is_copy_constructible_v<control_block>);
static_assert(sizeof(worker_words) % 64 == 0, "no two workers share a cache line");

TEST_CASE("control words are zero and shared between mappings", "[ipc]") {
    const control_block mine = control_block::create(3);
    const control_block other = control_block::open(descriptor{::dup(mine.memory_descriptor())}, 3);
    CHECK(mine.words().generation.load() == 0);
    CHECK(mine.worker(2).results_sent.load() == 0);
    mine.words().generation = 7;
    mine.worker(2).sample = 11;
    CHECK(other.words().generation.load() == 7);
    CHECK(other.worker(2).sample.load() == 11);
    CHECK(other.worker(1).sample.load() == 0);
}

TEST_CASE("a fork that destroys its copy of the words leaves what it has mapped there since",
          "[ipc]") {
    control_block control = control_block::create(2);
    const auto outcome = stoker::test_support::run_child([&](std::ostream& out) {
        void* const there = &control.words();
        void* const own = ::mmap(there, 4096, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (own != there) {
            out << "the addresses are not free";
            return 1;
        }
        {
            control_block moved = std::move(control);
            const control_block again = std::move(moved);
        }
        *static_cast<volatile char*>(own) = 1;
        return 0;
    });
    INFO(outcome.text);
    CHECK(outcome.succeeded());
}

TEST_CASE("a worker's words start again from zero, its neighbours' stay", "[ipc]") {
    const control_block control = control_block::create(2);
    control.worker(0).tasks.worker_inside = 1;
    control.worker(0).tasks_sent = 9;
    control.worker(1).tasks_sent = 5;
    control.reset_worker(0);
    CHECK(control.worker(0).tasks.worker_inside.load() == 0);
    CHECK(control.worker(0).tasks_sent.load() == 0);
    CHECK(control.worker(1).tasks_sent.load() == 5);
}

TEST_CASE("control memory cannot be resized", "[ipc]") {
    const control_block control = control_block::create(1);
    CHECK(::ftruncate(control.memory_descriptor(), 0) == -1);
    CHECK(errno == EPERM);
    CHECK((::fcntl(control.memory_descriptor(), F_GETFD) & FD_CLOEXEC) != 0);
}

TEST_CASE("a worker's number that does not exist, or too little memory, is refused", "[ipc]") {
    const control_block control = control_block::create(2);
    CHECK_THROWS_AS(control.worker(2), stoker::error);
    CHECK_THROWS_AS(control.worker(-1), stoker::error);
    CHECK_THROWS_AS(control_block::open(descriptor{::dup(control.memory_descriptor())}, 200),
                    stoker::error);
}

TEST_CASE("a forked child has no mapping of the control words", "[ipc]") {
    const control_block control = control_block::create(1);
    void* const address = &control.words();
    const auto outcome = stoker::test_support::run_child([address](std::ostream&) {
        unsigned char resident = 0;
        return ::mincore(address, 1, &resident) == -1 && errno == ENOMEM ? 0 : 1;
    });
    CHECK(outcome.succeeded());
}

TEST_CASE("moving a control block moves its mapping", "[ipc]") {
    control_block first = control_block::create(1);
    first.words().generation = 3;
    control_block second = std::move(first);
    CHECK(second.words().generation.load() == 3);
    CHECK(first.memory_descriptor() == -1);
    first = control_block::create(1);
    second = std::move(first);
    CHECK(second.words().generation.load() == 0);
}
