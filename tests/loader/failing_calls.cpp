// Every system call of a loader's whole life fails in turn, in main, in the fork server and in the
// workers: the life goes well all the same, or ends with one error that names the call and says
// what to do. It never hangs, and nothing is left of it.

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "loader/loader_datasets.hpp"
#include "support/catch.hpp"
#include "support/failing_call.hpp"
#include "support/leaks.hpp"
#include "support/run_child.hpp"

using namespace stoker;
using namespace stoker::test_loader;
using namespace stoker::test_support;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t sample_count = 24;
constexpr int most_calls = 400;

/// Mappings of this process that are memory of a loader's.
std::size_t mappings_of_ours() {
    std::ifstream maps("/proc/self/maps");
    std::size_t count = 0;
    for (std::string line; std::getline(maps, line);) {
        if (line.find("memfd:stoker") != std::string::npos ||
            line.find("/dev/shm/stoker") != std::string::npos)
            ++count;
    }
    return count;
}

/// What is left when a life is over; empty: nothing.
std::string leftovers(std::size_t descriptors) {
    std::string text;
    if (!holds_within(20s, [] { return descendants().empty(); }))
        text += "processes:\n" + to_text(descendants());
    if (open_descriptor_count() != descriptors)
        text += "descriptors: " + std::to_string(open_descriptor_count()) + " instead of " +
                std::to_string(descriptors) + "\n";
    if (mappings_of_ours() != 0)
        text += "mappings: " + std::to_string(mappings_of_ours()) + "\n";
    if (!shared_memory_entries(::getpid()).empty())
        text += "shared memory: " + shared_memory_entries(::getpid()).front() + "\n";
    return text;
}

template <class Loader>
void read_all(Loader& source) {
    std::int64_t next = 0;
    while (const auto batch = source.next_blocking()) {
        for (const std::int64_t value : batch[&number::value]) {
            if (value != next++)
                throw std::logic_error("a wrong sample");
        }
    }
    if (next != sample_count)
        throw std::logic_error("a short epoch");
}

/// Construct, epoch, break, restart, recover from a kill, destroy.
void live() {
    loader source{slow_numbers{sample_count, [](stoker::index i) { return i % 8 == 0 ? 1 : 0; }},
                  {.batch_size = 2, .num_workers = 2}};
    read_all(source);
    (void)source.next_blocking();
    source.restart();
    (void)source.next_blocking();
    const auto workers = source.worker_processes();
    if (!workers.empty())
        ::kill(workers.front(), SIGKILL);
    source.restart();
    read_all(source);
}

struct life {
    bool reached = false;
    bool well = false;
    bool sound = false;  ///< well, or one clear error, and nothing left
    std::string text{};
};

/// A life in a process of its own. Status: 0 well, 1 a clear error, 2 not clear, 3 leftovers; with
/// 8 the call was never made.
life one_life(const call_plan& plan) {
    const child_outcome outcome = run_child(
        [&](std::ostream& out) {
            const std::size_t descriptors = open_descriptor_count();
            int status = 0;
            bool reached = false;
            {
                const failing_call failing(plan);
                try {
                    live();
                } catch (const error& failure) {
                    out << failure.what();
                    // A batch's memory is spoken of in bytes.
                    // A fork server that can send no message for good cannot say why it ends.
                    const bool speechless =
                        plan.call == "sendmsg" && plan.for_good && plan.where == role::fork_server;
                    const bool named = failure.text().find(plan.call) != std::string::npos ||
                                       failure.code() == errc::memory_limit || speechless;
                    status = named && !failure.remedy().empty() ? 1 : 2;
                }
                reached = failing_call::reached();
            }
            const std::string left = leftovers(descriptors);
            out << left;
            return (left.empty() ? status : 3) + (reached ? 0 : 8);
        },
        60s);
    return {outcome.exit_status < 8, outcome.exit_status == 0 || outcome.exit_status == 8,
            !outcome.timed_out && (outcome.exit_status & 7) < 2 && outcome.exit_status >= 0 &&
                outcome.exit_status < 16,
            outcome.text + " (status " + std::to_string(outcome.exit_status) + ", signal " +
                std::to_string(outcome.signal) + (outcome.timed_out ? ", timed out)" : ")")};
}

std::string name_of(role where) {
    return where == role::main ? "main" : where == role::fork_server ? "fork server" : "worker";
}

void sweep(std::string_view call, std::vector<int> errors, bool for_good) {
    for (const role where : {role::main, role::fork_server, role::worker}) {
        for (const int error_number : errors) {
            int nth = 1;
            for (; nth < most_calls; ++nth) {
                const life seen = one_life({call, where, nth, error_number, for_good});
                INFO(call << " " << nth << " in " << name_of(where) << ": "
                          << detail::system::describe(error_number) << ": " << seen.text);
                CHECK(seen.sound);
                if (!seen.reached)
                    break;
            }
            CHECK(nth < most_calls);
        }
    }
}

}  // namespace

TEST_CASE("memory that cannot be had is told, and nothing is left", "[loader][seam]") {
    sweep("memfd_create", {EMFILE, ENOMEM}, false);
    sweep("ftruncate", {EFBIG}, false);
    sweep("mmap", {ENOMEM}, false);
    sweep("madvise", {ENOMEM}, false);
    sweep("fallocate", {ENOSPC}, false);
}

TEST_CASE("descriptors that cannot be had are told, and nothing is left", "[loader][seam]") {
    sweep("eventfd", {EMFILE}, false);
    sweep("epoll_create1", {EMFILE}, false);
    sweep("epoll_ctl", {ENOSPC}, false);
    sweep("timerfd_create", {EMFILE}, false);
    sweep("timerfd_settime", {EINVAL}, false);
    sweep("fcntl", {EPERM}, false);
    sweep("open", {EMFILE}, false);
    sweep("socketpair", {EMFILE}, false);
}

TEST_CASE("messages that fail are told, and nothing is left", "[loader][seam]") {
    sweep("sendmsg", {ENOBUFS, EAGAIN}, false);
    sweep("recvmsg", {ENOMEM, EAGAIN}, false);
    sweep("read", {EIO}, false);
    sweep("write", {EIO}, false);
    sweep("poll", {ENOMEM}, false);
    sweep("epoll_wait", {ENOMEM}, false);
}

TEST_CASE("processes that cannot be had are told, and nothing is left", "[loader][seam]") {
    sweep("fork", {EAGAIN, ENOMEM}, false);
    sweep("pidfd_open", {EMFILE, ENOSYS}, false);
    sweep("pidfd_send_signal", {EPERM}, false);
    sweep("waitid", {EINVAL}, false);
    sweep("prctl", {EPERM}, false);
}

TEST_CASE("calls that are interrupted or would wait cost nothing", "[loader][seam]") {
    for (const std::string_view call : {"epoll_wait", "poll", "sendmsg", "recvmsg", "read", "write",
                                        "waitid", "open", "fallocate", "madvise", "ftruncate"}) {
        for (const role where : {role::main, role::fork_server, role::worker}) {
            for (const int nth : {1, 2, 5}) {
                const life seen = one_life({call, where, nth, EINTR, false});
                INFO(call << " " << nth << " in " << name_of(where) << ": " << seen.text);
                CHECK(seen.well);
            }
        }
    }
}

TEST_CASE("calls that fail for good are told as well", "[loader][seam]") {
    const std::vector<std::pair<std::string_view, int>> plans{{"memfd_create", EMFILE},
                                                              {"mmap", ENOMEM},
                                                              {"madvise", ENOMEM},
                                                              {"eventfd", EMFILE},
                                                              {"epoll_ctl", ENOSPC},
                                                              {"epoll_create1", EMFILE},
                                                              {"socketpair", EMFILE},
                                                              {"sendmsg", ENOBUFS},
                                                              {"recvmsg", ENOMEM},
                                                              {"fork", EAGAIN},
                                                              {"waitid", EINVAL},
                                                              {"pidfd_open", EMFILE},
                                                              {"read", EIO},
                                                              {"poll", ENOMEM}};
    for (const auto& [call, error_number] : plans) {
        for (const role where : {role::main, role::fork_server, role::worker}) {
            for (const int nth : {1, 2, 4}) {
                const life seen = one_life({call, where, nth, error_number, true});
                INFO(call << " " << nth << " in " << name_of(where) << ": " << seen.text);
                CHECK(seen.sound);
            }
        }
    }
}
