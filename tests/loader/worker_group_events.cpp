#include "loader/worker_group.hpp"

#include <signal.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <string>

#include <stoker/core/error.hpp>
#include "core/system.hpp"
#include "loader/group_rig.hpp"
#include "support/catch.hpp"
#include "support/leaks.hpp"

using namespace stoker::detail;
using namespace stoker::test_loader;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;

namespace {

/// As the kernel does it where the process has no descriptor left.
ssize_t receive_without_descriptors(int socket, msghdr* message, int flags) {
    const ssize_t bytes = system_calls::real().recvmsg(socket, message, flags);
    if (bytes <= 0)
        return bytes;
    for (cmsghdr* part = CMSG_FIRSTHDR(message); part != nullptr;
         part = CMSG_NXTHDR(message, part)) {
        int number = -1;
        std::memcpy(&number, CMSG_DATA(part), sizeof number);
        ::close(number);
        message->msg_flags |= MSG_CTRUNC;
    }
    message->msg_controllen = 0;
    return bytes;
}

int timers_set = 0;

/// The error of the events that come next.
std::optional<stoker::error> failure_of_events(group_rig& all) {
    std::optional<stoker::error> seen;
    stoker::test_support::holds_within(5s, [&] {
        try {
            all.group->take_events();
        } catch (const stoker::error& failure) {
            seen = failure;
        }
        return seen.has_value();
    });
    return seen;
}

}  // namespace

TEST_CASE("a worker that cannot be watched is ended and told, not forgotten", "[loader]") {
    group_rig all(1);
    const int kind = GENERATE(0, 1);
    system_calls failing = system_calls::real();
    if (kind == 0)
        failing.recvmsg = receive_without_descriptors;
    else
        failing.epoll_ctl = [](int, int, int, epoll_event*) { return errno = ENOSPC, -1; };
    std::optional<stoker::error> seen;
    {
        const replaced_system_calls guard(failing);
        seen = failure_of_events(all);
    }
    REQUIRE(seen);
    CHECK(seen->code() == stoker::errc::resource);
    CHECK_THAT(seen->text(), ContainsSubstring(kind == 0 ? "recvmsg failed" : "epoll_ctl failed"));
    CHECK(all.wait_for(5s, [&] { return all.group->view(0).now == worker_view::state::dead; }));
    CHECK(all.group->bury(0));
    all.group->start_missing();
    CHECK(all.wait_for(5s, [&] { return all.group->processes().size() == 1; }));
}

TEST_CASE("an alarm that is set for earlier serves a later deadline", "[loader]") {
    group_rig all(1);
    REQUIRE(all.wait_for(5s, [&] { return all.group->processes().size() == 1; }));
    system_calls counting = system_calls::real();
    counting.timerfd_settime = [](int timer, int flags, const itimerspec* when, itimerspec* old) {
        ++timers_set;
        return system_calls::real().timerfd_settime(timer, flags, when, old);
    };
    const replaced_system_calls guard(counting);
    timers_set = 0;
    const auto now = loader_clock::now();
    all.group->set_deadline(now + 60s);
    all.group->set_deadline(now + 90s);
    CHECK(timers_set == 1);
    all.group->set_deadline(now + 30s);
    CHECK(timers_set == 2);
    all.group->set_deadline(std::nullopt);
    CHECK(timers_set == 3);
}

TEST_CASE("stopped processes of a group go on when they are woken", "[loader]") {
    group_rig all(1);
    REQUIRE(all.wait_for(5s, [&] { return all.group->processes().size() == 1; }));
    ::kill(all.group->link().pid(), SIGSTOP);
    ::kill(all.group->view(0).pid, SIGSTOP);
    all.group->wake_stopped();
    all.group->assign(0, all.task(1, 0));
    all.group->ring_all();
    result_message result{};
    CHECK(all.wait_for(5s, [&] { return all.group->try_receive(0, result); }));
    CHECK(result.sequence == 1);
}

TEST_CASE("a group goes on with another fork server", "[loader]") {
    group_rig all(2);
    REQUIRE(all.wait_for(5s, [&] { return all.group->processes().size() == 2; }));
    const pid_t before = all.group->link().pid();
    all.group->kill_server();
    const auto seen = failure_of_events(all);
    REQUIRE(seen);
    CHECK(seen->code() == stoker::errc::fork_server_died);
    all.group->lose_workers();
    for (int worker = 0; worker < 2; ++worker) {
        CHECK(all.group->view(worker).now == worker_view::state::dead);
        CHECK(all.group->bury(worker));
    }
    all.group->adopt(server_link::fork_here(*all.source, "group", false));
    all.group->link().set_up(all.environment());
    all.group->start_missing();
    CHECK(all.wait_for(5s, [&] { return all.group->processes().size() == 2; }));
    CHECK(all.group->link().pid() != before);
    all.group->assign(1, all.task(7, 0));
    all.group->ring_all();
    result_message result{};
    CHECK(all.wait_for(5s, [&] { return all.group->try_receive(1, result); }));
    CHECK(result.sequence == 7);
}
