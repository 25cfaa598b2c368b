#include "core/profile_range.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <thread>
#include <type_traits>
#include <utility>

#include "support/catch.hpp"
#include "support/recorded_ranges.hpp"

using stoker::detail::profile_range;

static_assert(std::is_nothrow_move_constructible_v<profile_range>);
static_assert(!std::is_copy_constructible_v<profile_range>);

TEST_CASE("a range begins and ends once, on whichever threads, with its name and payload") {
    const recorded::recording all;
    long other = 0;
    {
        profile_range outer("outer", 7);
        profile_range inner("inner", 8);
        std::thread([&other, moved = std::move(outer)] { other = ::syscall(SYS_gettid); }).join();
        inner = profile_range("next", 9);
        inner.end();
        inner.end();
        const profile_range nothing;
    }
    int strays = 0;
    const auto found = all.read(&strays);
    CHECK(strays == 0);
    REQUIRE(found.size() == 3);
    CHECK(found[0].name == "outer");
    CHECK(found[0].payload == 7);
    CHECK(found[0].thread == ::getpid());
    CHECK(found[0].end_thread == other);
    CHECK(found[1].name == "inner");
    CHECK(found[1].end_thread == ::getpid());
    CHECK(found[2].name == "next");
    CHECK(found[2].payload == 9);
    CHECK(found[2].end_thread == ::getpid());
}
