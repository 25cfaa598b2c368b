#include "core/system.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <type_traits>

#include <stoker/core/error.hpp>
#include "support/catch.hpp"

using namespace stoker::detail;
using Catch::Matchers::ContainsSubstring;

static_assert(std::is_nothrow_move_constructible_v<descriptor>);
static_assert(std::is_nothrow_move_assignable_v<descriptor>);
static_assert(!std::is_copy_constructible_v<descriptor>);

namespace {

bool is_open(int number) {
    return ::fcntl(number, F_GETFD) != -1;
}

std::span<const std::byte> bytes_of(const std::string& text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}

/// The text of the error that a call raises; empty: none.
template <class Call>
std::string failure_of(const Call& call) {
    try {
        call();
    } catch (const stoker::error& failure) {
        return failure.code() == stoker::errc::resource ? failure.what() : "another code";
    }
    return {};
}

/// The first calls of recvmsg and others fail with EINTR, the third works.
int interruptions = 0;
bool interrupted() {
    if (interruptions == 0)
        return false;
    --interruptions;
    errno = EINTR;
    return true;
}

}  // namespace

TEST_CASE("a descriptor closes what it owns, once", "[core]") {
    const int number = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    {
        descriptor first{number};
        descriptor second{std::move(first)};
        CHECK_FALSE(first);
        CHECK(second.get() == number);
        CHECK(is_open(number));
    }
    CHECK_FALSE(is_open(number));
    descriptor kept{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
    const int released = kept.release();
    kept.reset();
    CHECK(is_open(released));
    descriptor other{released};
    other = descriptor{};
    CHECK_FALSE(is_open(released));
}

TEST_CASE("an error names the call, its purpose and errno", "[core]") {
    const std::string text =
        failure_of([] { system::open("/nowhere/at/all", O_RDONLY, "the test's file"); });
    CHECK_THAT(text, ContainsSubstring("open failed for the test's file"));
    CHECK_THAT(text, ContainsSubstring("No such file or directory (ENOENT)"));
}

TEST_CASE("every call can be made to fail, and says so", "[core]") {
    system_calls failing = system_calls::real();
    failing.memfd_create = [](const char*, unsigned) { return errno = EMFILE, -1; };
    failing.ftruncate = [](int, off_t) { return errno = EFBIG, -1; };
    failing.mmap = [](void*, std::size_t, int, int, int, off_t) {
        return errno = ENOMEM, MAP_FAILED;
    };
    failing.fcntl = [](int, int, int) { return errno = EPERM, -1; };
    failing.eventfd = [](unsigned, int) { return errno = EMFILE, -1; };
    failing.epoll_create1 = [](int) { return errno = EMFILE, -1; };
    failing.epoll_ctl = [](int, int, int, epoll_event*) { return errno = ENOSPC, -1; };
    failing.epoll_wait = [](int, epoll_event*, int, int) { return errno = EBADF, -1; };
    failing.timerfd_create = [](int, int) { return errno = EMFILE, -1; };
    failing.timerfd_settime = [](int, int, const itimerspec*, itimerspec*) {
        return errno = EINVAL, -1;
    };
    failing.socketpair = [](int, int, int, int*) { return errno = EMFILE, -1; };
    failing.sendmsg = [](int, const msghdr*, int) { return errno = EMSGSIZE, ssize_t{-1}; };
    failing.recvmsg = [](int, msghdr*, int) { return errno = EBADF, ssize_t{-1}; };
    failing.read = [](int, void*, std::size_t) { return errno = EIO, ssize_t{-1}; };
    failing.write = [](int, const void*, std::size_t) { return errno = EIO, ssize_t{-1}; };
    failing.poll = [](pollfd*, nfds_t, int) { return errno = ENOMEM, -1; };
    failing.fork = []() -> pid_t { return errno = EAGAIN, -1; };
    failing.pidfd_open = [](pid_t, unsigned) { return errno = ENOSYS, -1; };
    failing.pidfd_send_signal = [](int, int, siginfo_t*, unsigned) { return errno = EPERM, -1; };
    failing.waitid = [](idtype_t, id_t, siginfo_t*, int) { return errno = EINVAL, -1; };
    failing.prctl = [](int, unsigned long, unsigned long, unsigned long, unsigned long) {
        return errno = EINVAL, -1;
    };
    const replaced_system_calls guard(failing);
    std::array<std::byte, 8> room{};
    std::array<epoll_event, 1> events{};
    std::vector<descriptor> received;
    siginfo_t info{};
    const auto why = "a test";
    CHECK_THAT(failure_of([&] { system::memory_file("m", why); }),
               ContainsSubstring("memfd_create"));
    CHECK_THAT(failure_of([&] { system::set_size(0, 1, why); }), ContainsSubstring("ftruncate"));
    CHECK_THAT(failure_of([&] { system::map(nullptr, 1, 0, 0, 0, 0, why); }),
               ContainsSubstring("mmap"));
    CHECK_THAT(failure_of([&] { system::add_seals(0, 0, why); }), ContainsSubstring("fcntl"));
    CHECK_THAT(failure_of([&] { system::set_non_blocking(0, true, why); }),
               ContainsSubstring("fcntl"));
    CHECK_THAT(failure_of([&] { system::event(why); }), ContainsSubstring("eventfd"));
    CHECK_THAT(failure_of([&] { system::epoll(why); }), ContainsSubstring("epoll_create1"));
    CHECK_THAT(failure_of([&] { system::epoll_add(0, 0, 0, 0, why); }),
               ContainsSubstring("epoll_ctl"));
    CHECK_THAT(failure_of([&] { system::epoll_change(0, 0, 0, 0, why); }),
               ContainsSubstring("epoll_ctl"));
    CHECK_THAT(failure_of([&] { system::epoll_wait(0, events, 0, why); }),
               ContainsSubstring("epoll_wait"));
    CHECK_THAT(failure_of([&] { system::timer(why); }), ContainsSubstring("timerfd_create"));
    CHECK_THAT(failure_of([&] { system::set_timer(0, 1, why); }),
               ContainsSubstring("timerfd_settime"));
    CHECK_THAT(failure_of([&] { system::message_sockets(why); }), ContainsSubstring("socketpair"));
    CHECK_THAT(failure_of([&] { system::send_message(0, room, {}); }),
               ContainsSubstring("sendmsg"));
    CHECK_THAT(failure_of([&] { system::receive_message(0, room, received); }),
               ContainsSubstring("recvmsg"));
    CHECK_THAT(failure_of([&] { system::read(0, room, why); }), ContainsSubstring("read"));
    CHECK_THAT(failure_of([&] { system::write_all(0, room, why); }), ContainsSubstring("write"));
    CHECK_THAT(failure_of([&] { system::wait_readable(0, 0, why); }), ContainsSubstring("poll"));
    CHECK_THAT(failure_of([&] { system::fork(why); }), ContainsSubstring("fork"));
    CHECK_THAT(failure_of([&] { system::pidfd_open(1, why); }), ContainsSubstring("pidfd_open"));
    CHECK_THAT(failure_of([&] { system::pidfd_signal(0, 0, why); }),
               ContainsSubstring("pidfd_send_signal"));
    CHECK_THAT(failure_of([&] { system::wait_child(P_ALL, 0, info, 0, why); }),
               ContainsSubstring("waitid"));
    CHECK_THAT(failure_of([&] { system::process_control(0, 0, why); }), ContainsSubstring("prctl"));
}

TEST_CASE("interrupted calls are made again", "[core][B011]") {
    system_calls shaky = system_calls::real();
    shaky.read = [](int number, void* buffer, std::size_t bytes) {
        return interrupted() ? -1 : ::read(number, buffer, bytes);
    };
    shaky.write = [](int number, const void* buffer, std::size_t bytes) {
        return interrupted() ? -1 : ::write(number, buffer, bytes);
    };
    shaky.poll = [](pollfd* entries, nfds_t count, int timeout_ms) {
        return interrupted() ? -1 : ::poll(entries, count, timeout_ms);
    };
    shaky.recvmsg = [](int number, msghdr* header, int flags) {
        return interrupted() ? -1 : ::recvmsg(number, header, flags);
    };
    shaky.sendmsg = [](int number, const msghdr* header, int flags) {
        return interrupted() ? -1 : ::sendmsg(number, header, flags);
    };
    const replaced_system_calls guard(shaky);
    const auto ends = system::message_sockets("a test");
    std::array<std::byte, 8> room{};
    std::vector<descriptor> received;

    interruptions = 2;
    system::write_all(ends.first.get(), bytes_of("abc"), "a test");
    interruptions = 2;
    CHECK(system::wait_readable(ends.second.get(), 1000, "a test"));
    interruptions = 2;
    CHECK(system::read(ends.second.get(), room, "a test") == 3U);
    interruptions = 2;
    CHECK(system::send_message(ends.first.get(), bytes_of("defg"), {}) == send_outcome::sent);
    interruptions = 2;
    CHECK(system::receive_message(ends.second.get(), room, received) == 4U);
    CHECK(interruptions == 0);
}

TEST_CASE("a message carries descriptors, closed on exec", "[core]") {
    const auto ends = system::message_sockets("a test");
    const descriptor file = system::memory_file("carried", "a test");
    system::write_all(file.get(), bytes_of("text"), "a test");
    const std::array<int, 4> carried{file.get(), file.get(), 0, 1};
    REQUIRE(system::send_message(ends.first.get(), bytes_of("hello"), carried) ==
            send_outcome::sent);
    std::array<std::byte, 64> room{};
    std::vector<descriptor> received;
    REQUIRE(system::receive_message(ends.second.get(), room, received) == 5U);
    CHECK(std::memcmp(room.data(), "hello", 5) == 0);
    REQUIRE(received.size() == 4);
    std::array<char, 4> text{};
    CHECK(::pread(received[1].get(), text.data(), 4, 0) == 4);
    CHECK(std::string(text.data(), 4) == "text");
    for (const descriptor& each : received) {
        CHECK((::fcntl(each.get(), F_GETFD) & FD_CLOEXEC) != 0);
    }
}

TEST_CASE("an empty socket, an end and a missing reader are told apart", "[core]") {
    auto ends = system::message_sockets("a test");
    std::array<std::byte, 8> room{};
    std::vector<descriptor> received;
    system::set_non_blocking(ends.second.get(), true, "a test");
    CHECK(system::receive_message(ends.second.get(), room, received) == 0U);
    CHECK(system::send_message(ends.first.get(), bytes_of("last"), {}) == send_outcome::sent);
    ends.first.reset();
    CHECK(system::receive_message(ends.second.get(), room, received) == 4U);
    CHECK(system::receive_message(ends.second.get(), room, received) == std::nullopt);
    CHECK(system::send_message(ends.second.get(), bytes_of("x"), {}) == send_outcome::closed);
    CHECK(received.empty());
}

TEST_CASE("a full socket would block and says so", "[core]") {
    const auto ends = system::message_sockets("a test");
    system::set_non_blocking(ends.first.get(), true, "a test");
    int sent = 0;
    while (sent < 100'000 &&
           system::send_message(ends.first.get(), bytes_of("x"), {}) == send_outcome::sent) {
        ++sent;
    }
    CHECK(sent > 0);
    CHECK(sent < 100'000);
}

TEST_CASE("a message too large for its buffer is an error that leaks nothing", "[core]") {
    const auto ends = system::message_sockets("a test");
    std::array<std::byte, 2> room{};
    std::vector<descriptor> received;
    system::send_message(ends.first.get(), bytes_of("too long"), {});
    CHECK_THROWS_AS(system::receive_message(ends.second.get(), room, received), stoker::error);
    CHECK_THROWS_AS(system::send_message(ends.first.get(), {}, {}), stoker::error);
    const std::array<int, max_message_descriptors + 1> too_many{};
    CHECK_THROWS_AS(system::send_message(ends.first.get(), bytes_of("x"), too_many), stoker::error);
}

TEST_CASE("an epoll set tells which descriptor is ready", "[core]") {
    const descriptor set = system::epoll("a test");
    const descriptor bell = system::event("a test");
    const descriptor timer = system::timer("a test");
    system::epoll_add(set.get(), bell.get(), EPOLLIN, 7, "a test");
    system::epoll_add(set.get(), timer.get(), EPOLLIN, 9, "a test");
    std::array<epoll_event, 4> events{};
    CHECK(system::epoll_wait(set.get(), events, 0, "a test") == 0);
    system::set_timer(timer.get(), 1'000'000, "a test");
    REQUIRE(system::epoll_wait(set.get(), events, 10'000, "a test") == 1);
    CHECK(events[0].data.u64 == 9);
    system::set_timer(timer.get(), 0, "a test");
    CHECK(system::epoll_wait(set.get(), events, 0, "a test") == 0);
    const std::uint64_t one = 1;
    system::write_all(bell.get(), std::as_bytes(std::span(&one, 1)), "a test");
    REQUIRE(system::epoll_wait(set.get(), events, 10'000, "a test") == 1);
    CHECK(events[0].data.u64 == 7);
    system::epoll_remove(set.get(), bell.get());
    system::epoll_remove(set.get(), bell.get());
    CHECK(system::epoll_wait(set.get(), events, 0, "a test") == 0);
}

TEST_CASE("a child is signalled and waited for by its pidfd", "[core]") {
    const pid_t child = system::fork("a test");
    if (child == 0) {
        for (;;)
            ::pause();
    }
    const descriptor pidfd = system::pidfd_open(child, "a test");
    CHECK((::fcntl(pidfd.get(), F_GETFD) & FD_CLOEXEC) != 0);
    siginfo_t info{};
    CHECK_FALSE(system::wait_child(P_PID, id_t(child), info, WEXITED | WNOHANG, "a test"));
    CHECK_FALSE(system::wait_readable(pidfd.get(), 0, "a test"));
    CHECK(system::pidfd_signal(pidfd.get(), SIGKILL, "a test"));
    CHECK(system::wait_readable(pidfd.get(), 10'000, "a test"));
    REQUIRE(system::wait_child(P_PID, id_t(child), info, WEXITED, "a test"));
    CHECK(info.si_code == CLD_KILLED);
    CHECK(info.si_status == SIGKILL);
    CHECK_FALSE(system::pidfd_signal(pidfd.get(), SIGKILL, "a test"));
    CHECK_FALSE(system::wait_child(P_PID, id_t(child), info, WEXITED, "a test"));
}

TEST_CASE("a range of descriptors is closed", "[core]") {
    const int low = ::fcntl(0, F_DUPFD_CLOEXEC, 900);
    const int high = ::fcntl(0, F_DUPFD_CLOEXEC, 910);
    REQUIRE(low >= 900);
    REQUIRE(high >= 910);
    CHECK(system::close_range(unsigned(low), unsigned(high)) == 0);
    CHECK_FALSE(is_open(low));
    CHECK_FALSE(is_open(high));
}

TEST_CASE("reading tells an end from nothing now", "[core]") {
    std::array<int, 2> pipe{};
    REQUIRE(::pipe2(pipe.data(), O_CLOEXEC) == 0);
    const descriptor out{pipe[0]};
    descriptor in{pipe[1]};
    system::set_non_blocking(out.get(), true, "a test");
    std::array<std::byte, 8> room{};
    CHECK(system::read(out.get(), room, "a test") == std::nullopt);
    system::write_all(in.get(), bytes_of("ab"), "a test");
    CHECK(system::read(out.get(), room, "a test") == 2U);
    in.reset();
    CHECK(system::read(out.get(), room, "a test") == 0U);
}
