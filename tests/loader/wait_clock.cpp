#include "loader/wait_clock.hpp"

#include <chrono>

#include "support/catch.hpp"

using namespace std::chrono_literals;
using stoker::detail::wait_clock;

namespace {

const wait_clock::clock::time_point zero{};

}  // namespace

TEST_CASE("a wait counts from the first look, over all that follow", "[loader]") {
    wait_clock clock(zero);
    CHECK_FALSE(clock.running());
    CHECK(clock.look(zero + 500ms) == 0ms);
    CHECK(clock.started() == zero + 500ms);
    CHECK(clock.look(zero + 1400ms) == 0ms);
    clock.wake(zero + 60s);  // a sleep counts whole
    CHECK(clock.look(zero + 61s) == 0ms);
    CHECK(clock.started() == zero + 500ms);
    clock.stop();
    CHECK_FALSE(clock.running());
}

TEST_CASE("of the time in which nobody looks one second counts", "[loader]") {
    wait_clock clock(zero);
    CHECK(clock.look(zero + 10s) == 9s);  // nobody waits yet, but others' clocks run
    CHECK(clock.started() == zero + 10s);
    CHECK(clock.look(zero + 15s) == 4s);
    CHECK(clock.started() == zero + 14s);
    CHECK(clock.look(zero + 16s) == 0ms);
    CHECK(clock.started() == zero + 14s);
}

TEST_CASE("a wait that starts again forgets what went before, one that is over stays so",
          "[loader]") {
    wait_clock clock(zero);
    clock.look(zero + 1s);
    clock.restart(zero + 30s);
    CHECK(clock.started() == zero + 30s);
    clock.stop();
    clock.restart(zero + 40s);
    CHECK_FALSE(clock.running());
    CHECK(clock.look(zero + 40s) == 0ms);
}
