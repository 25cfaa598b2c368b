#include "ipc/doorbell.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cstdint>
#include <type_traits>

#include "support/catch.hpp"

using namespace stoker::detail;

static_assert(std::is_nothrow_move_constructible_v<doorbell>);
static_assert(std::is_nothrow_move_assignable_v<doorbell>);
static_assert(!std::is_copy_constructible_v<doorbell>);

namespace {

bool is_readable(const doorbell& bell) {
    pollfd entry{.fd = bell.number(), .events = POLLIN, .revents = 0};
    return ::poll(&entry, 1, 0) == 1;
}

}  // namespace

TEST_CASE("a doorbell is silent until it is rung, and again when cleared", "[ipc]") {
    const doorbell bell = doorbell::create();
    CHECK_FALSE(is_readable(bell));
    bell.ring();
    bell.ring();
    CHECK(is_readable(bell));
    bell.clear();
    CHECK_FALSE(is_readable(bell));
}

TEST_CASE("a doorbell blocks nobody, full or empty", "[ipc]") {
    const doorbell bell = doorbell::create();
    CHECK((::fcntl(bell.number(), F_GETFL) & O_NONBLOCK) != 0);
    CHECK((::fcntl(bell.number(), F_GETFD) & FD_CLOEXEC) != 0);
    bell.clear();
    const std::uint64_t most = ~std::uint64_t{0} - 1;
    REQUIRE(::write(bell.number(), &most, sizeof most) == sizeof most);
    bell.ring();
    CHECK(is_readable(bell));
}

TEST_CASE("an adopted doorbell is the same bell, and a missing one does nothing", "[ipc]") {
    const doorbell bell = doorbell::create();
    const doorbell adopted{descriptor{::dup(bell.number())}};
    adopted.ring();
    CHECK(is_readable(bell));
    const doorbell none;
    CHECK(none.number() == -1);
    none.ring();
    none.clear();
}
