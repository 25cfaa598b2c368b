// One table of raw calls, one place that retries and one that words failures. The table is the
// only global of the library, constant unless a test replaces it: a failing mmap or fork cannot be
// provoked by a test in any other way, and passing a table to every class would put the tests' need
// into every signature.

#include "core/system.hpp"

#include <fcntl.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>

#include <stoker/core/error.hpp>

namespace stoker::detail {

namespace {

using steady = std::chrono::steady_clock;

constexpr system_calls real_calls{
    .memfd_create = ::memfd_create,
    .ftruncate = ::ftruncate,
    .mmap = ::mmap,
    .munmap = ::munmap,
    .madvise = ::madvise,
    .fallocate = ::fallocate,
    .fcntl = [](int number, int command, int value) { return ::fcntl(number, command, value); },
    .eventfd = ::eventfd,
    .epoll_create1 = ::epoll_create1,
    .epoll_ctl = ::epoll_ctl,
    .epoll_wait = ::epoll_wait,
    .timerfd_create = ::timerfd_create,
    .timerfd_settime = ::timerfd_settime,
    .socketpair = ::socketpair,
    .sendmsg = ::sendmsg,
    .recvmsg = ::recvmsg,
    .read = ::read,
    .write = ::write,
    .open = [](const char* path, int flags, mode_t mode) { return ::open(path, flags, mode); },
    .poll = ::poll,
    .fork = ::fork,
    // By number: glibc 2.36 has wrappers, but their header clashes with older ones.
    .pidfd_open = [](pid_t process,
                     unsigned flags) { return int(::syscall(SYS_pidfd_open, process, flags)); },
    .pidfd_send_signal =
        [](int pidfd, int signal, siginfo_t* info, unsigned flags) {
            return int(::syscall(SYS_pidfd_send_signal, pidfd, signal, info, flags));
        },
    .waitid = ::waitid,
    .close_range = [](unsigned first, unsigned last,
                      int flags) { return int(::syscall(SYS_close_range, first, last, flags)); },
    .prctl = [](int operation, unsigned long a, unsigned long b, unsigned long c,
                unsigned long d) { return ::prctl(operation, a, b, c, d); },
};

constinit const system_calls* calls = &real_calls;

/// The result of a call that is made again while signals interrupt it.
template <class Call>
auto retried(Call call) {
    auto result = call();
    while (result == -1 && errno == EINTR)
        result = call();
    return result;
}

/// A retried call, or an error.
template <class Call>
auto checked(std::string_view name, std::string_view purpose, Call call) {
    const auto result = retried(call);
    if (result == -1)
        system::fail(name, purpose, errno);
    return result;
}

/// A wait that goes on with the rest of its time when signals interrupt it.
template <class Wait>
std::size_t wait_out(std::string_view name, std::string_view purpose, int timeout_ms, Wait wait) {
    const auto deadline = steady::now() + std::chrono::milliseconds(timeout_ms);
    for (int left_ms = timeout_ms;;) {
        const int ready = wait(left_ms);
        if (ready >= 0)
            return std::size_t(ready);
        if (errno != EINTR)
            system::fail(name, purpose, errno);
        if (timeout_ms < 0)
            continue;
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - steady::now());
        left_ms = int(std::max<std::int64_t>(left.count(), 0));
    }
}

}  // namespace

const system_calls& system_calls::real() noexcept {
    return real_calls;
}

replaced_system_calls::replaced_system_calls(const system_calls& table) noexcept
    : before_(std::exchange(calls, &table)) {}

replaced_system_calls::~replaced_system_calls() {
    calls = before_;
}

std::string system::describe(int error_number) {
    std::string text = std::generic_category().message(error_number);
    if (const char* const name = ::strerrorname_np(error_number)) {
        text += " (";
        text += name;
        text += ')';
    }
    return text;
}

namespace {

/// Empty: what errc::resource says.
std::string_view remedy_for(std::string_view call, int error_number) {
    switch (error_number) {
        case EMFILE:
            return "raise the limit of open files (ulimit -n), or close some: a loader needs about "
                   "four a worker";
        case ENFILE:
            return "raise the system's limit of open files (sysctl fs.file-max), or end processes "
                   "that hold many";
        case ENOMEM:
            return "lower num_workers, prefetch_factor or batch_size, or raise what limits memory: "
                   "ulimit -v, the cgroup's memory.max, sysctl vm.overcommit_memory";
        case EAGAIN:
            return call == "fork" || call == "clone"
                       ? "raise the limit of processes (ulimit -u, the cgroup's pids.max), or "
                         "lower num_workers"
                       : "";
        case ENOSPC:
            return call == "epoll_ctl"
                       ? "raise sysctl fs.epoll.max_user_watches"
                       : "free space on the file system or in the memory that is named";
        case ENOSYS:
        case EPERM:
            return "allow the call: a sandbox (seccomp, a container's profile) refuses it, or the "
                   "kernel is older than 5.14";
        default:
            return "";
    }
}

}  // namespace

void system::fail(std::string_view call, std::string_view purpose, int error_number) {
    std::string text{call};
    text += " failed for ";
    text += purpose;
    text += ": ";
    text += describe(error_number);
    error_details details;
    details.code = errc::resource;
    details.text = std::move(text);
    details.remedy = remedy_for(call, error_number);
    throw error{std::move(details)};
}

namespace {

/// Where a host has closed 0, 1 or 2, the next descriptor takes its place: a program's printf would
/// then write into it, and a fork keeps those three.
descriptor clear_of_standard(int number) {
    if (number > STDERR_FILENO)
        return descriptor{number};
    const int higher = ::fcntl(number, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    const int error_number = errno;
    ::close(number);
    if (higher < 0)
        system::fail("fcntl(F_DUPFD_CLOEXEC)", "a descriptor above 2", error_number);
    return descriptor{higher};
}

}  // namespace

descriptor system::memory_file(const char* name, std::string_view purpose) {
    return clear_of_standard(checked("memfd_create", purpose, [&] {
        return calls->memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    }));
}

void system::set_size(int file, std::uint64_t bytes, std::string_view purpose) {
    checked("ftruncate", purpose, [&] { return calls->ftruncate(file, off_t(bytes)); });
}

void system::add_seals(int file, int seals, std::string_view purpose) {
    checked("fcntl(F_ADD_SEALS)", purpose, [&] { return calls->fcntl(file, F_ADD_SEALS, seals); });
}

std::byte* system::map(void* address, std::uint64_t bytes, int protection, int flags, int file,
                       std::uint64_t offset, std::string_view purpose) {
    void* const memory = calls->mmap(address, bytes, protection, flags, file, off_t(offset));
    if (memory == MAP_FAILED)
        fail("mmap", purpose, errno);
    return static_cast<std::byte*>(memory);
}

void system::unmap(void* address, std::uint64_t bytes) noexcept {
    if (address != nullptr && bytes != 0)
        calls->munmap(address, bytes);
}

int system::advise(void* address, std::uint64_t bytes, int advice) noexcept {
    return retried([&] { return calls->madvise(address, bytes, advice); }) == 0 ? 0 : errno;
}

int system::punch_hole(int file, std::uint64_t offset, std::uint64_t bytes) noexcept {
    const int result = retried([&] {
        return calls->fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, off_t(offset),
                                off_t(bytes));
    });
    return result == 0 ? 0 : errno;
}

descriptor system::event(std::string_view purpose) {
    return clear_of_standard(
        checked("eventfd", purpose, [] { return calls->eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }));
}

descriptor system::epoll(std::string_view purpose) {
    return clear_of_standard(
        checked("epoll_create1", purpose, [] { return calls->epoll_create1(EPOLL_CLOEXEC); }));
}

namespace {

void change_epoll(int set, int operation, int number, std::uint32_t events, std::uint64_t tag,
                  std::string_view purpose) {
    epoll_event event{};
    event.events = events;
    event.data.u64 = tag;
    checked("epoll_ctl", purpose, [&] { return calls->epoll_ctl(set, operation, number, &event); });
}

}  // namespace

void system::epoll_add(int set, int number, std::uint32_t events, std::uint64_t tag,
                       std::string_view purpose) {
    change_epoll(set, EPOLL_CTL_ADD, number, events, tag, purpose);
}

void system::epoll_change(int set, int number, std::uint32_t events, std::uint64_t tag,
                          std::string_view purpose) {
    change_epoll(set, EPOLL_CTL_MOD, number, events, tag, purpose);
}

void system::epoll_remove(int set, int number) noexcept {
    epoll_event event{};
    calls->epoll_ctl(set, EPOLL_CTL_DEL, number, &event);
}

std::size_t system::epoll_wait(int set, std::span<epoll_event> events, int timeout_ms,
                               std::string_view purpose) {
    return wait_out("epoll_wait", purpose, timeout_ms, [&](int left_ms) {
        return calls->epoll_wait(set, events.data(), int(events.size()), left_ms);
    });
}

descriptor system::timer(std::string_view purpose) {
    return clear_of_standard(checked("timerfd_create", purpose, [] {
        return calls->timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    }));
}

void system::set_timer(int timer, std::uint64_t nanoseconds, std::string_view purpose) {
    constexpr std::uint64_t second = 1'000'000'000;
    itimerspec when{};
    when.it_value.tv_sec = time_t(nanoseconds / second);
    when.it_value.tv_nsec = long(nanoseconds % second);
    checked("timerfd_settime", purpose,
            [&] { return calls->timerfd_settime(timer, 0, &when, nullptr); });
}

std::size_t system::poll(std::span<pollfd> entries, int timeout_ms, std::string_view purpose) {
    return wait_out("poll", purpose, timeout_ms, [&](int left_ms) {
        return calls->poll(entries.data(), nfds_t(entries.size()), left_ms);
    });
}

bool system::wait_readable(int number, int timeout_ms, std::string_view purpose) {
    pollfd entry{.fd = number, .events = POLLIN, .revents = 0};
    return poll({&entry, 1}, timeout_ms, purpose) != 0;
}

descriptor system::open(const std::string& path, int flags, std::string_view purpose, mode_t mode) {
    return clear_of_standard(checked(
        "open", purpose, [&] { return calls->open(path.c_str(), flags | O_CLOEXEC, mode); }));
}

std::optional<std::size_t> system::read(int number, std::span<std::byte> buffer,
                                        std::string_view purpose) {
    const ssize_t bytes =
        retried([&] { return calls->read(number, buffer.data(), buffer.size()); });
    if (bytes >= 0)
        return std::size_t(bytes);
    if (errno == EAGAIN || errno == EWOULDBLOCK)
        return std::nullopt;
    fail("read", purpose, errno);
}

void system::write_all(int number, std::span<const std::byte> bytes, std::string_view purpose) {
    while (!bytes.empty()) {
        const ssize_t written =
            retried([&] { return calls->write(number, bytes.data(), bytes.size()); });
        if (written >= 0) {
            bytes = bytes.subspan(std::size_t(written));
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            pollfd entry{.fd = number, .events = POLLOUT, .revents = 0};
            poll({&entry, 1}, -1, purpose);
        } else {
            fail("write", purpose, errno);
        }
    }
}

void system::set_non_blocking(int number, bool on, std::string_view purpose) {
    const int flags =
        checked("fcntl(F_GETFL)", purpose, [&] { return calls->fcntl(number, F_GETFL, 0); });
    const int wanted = on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK;
    checked("fcntl(F_SETFL)", purpose, [&] { return calls->fcntl(number, F_SETFL, wanted); });
}

int system::close_range(unsigned first, unsigned last) noexcept {
    return retried([&] { return calls->close_range(first, last, 0); }) == 0 ? 0 : errno;
}

system::socket_pair system::message_sockets(std::string_view purpose) {
    std::array<int, 2> ends{};
    checked("socketpair", purpose, [&] {
        return calls->socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data());
    });
    descriptor first = clear_of_standard(ends[0]);
    return {.first = std::move(first), .second = clear_of_standard(ends[1])};
}

namespace {

/// Room for the descriptors of one message, aligned as the kernel wants it.
struct control_room {
    alignas(
        cmsghdr) std::array<std::byte, CMSG_SPACE(max_message_descriptors * sizeof(int))> bytes{};
};

bool peer_is_gone(int error_number) {
    return error_number == EPIPE || error_number == ECONNRESET || error_number == ENOTCONN;
}

}  // namespace

send_outcome system::send_message(int socket, std::span<const std::byte> message,
                                  std::span<const int> descriptors) {
    constexpr std::string_view purpose = "a message between processes";
    if (message.empty())
        fail("sendmsg", purpose, EINVAL);
    if (descriptors.size() > max_message_descriptors)
        fail("sendmsg", purpose, E2BIG);
    iovec part{.iov_base = const_cast<std::byte*>(message.data()), .iov_len = message.size()};
    control_room room;
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    if (!descriptors.empty()) {
        header.msg_control = room.bytes.data();
        header.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
        cmsghdr* const rights = CMSG_FIRSTHDR(&header);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(descriptors.size_bytes());
        std::memcpy(CMSG_DATA(rights), descriptors.data(), descriptors.size_bytes());
    }
    if (retried([&] { return calls->sendmsg(socket, &header, MSG_NOSIGNAL); }) >= 0) {
        return send_outcome::sent;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK)
        return send_outcome::would_block;
    if (peer_is_gone(errno))
        return send_outcome::closed;
    fail("sendmsg", purpose, errno);
}

std::optional<std::size_t> system::receive_message(int socket, std::span<std::byte> buffer,
                                                   std::vector<descriptor>& received) {
    constexpr std::string_view purpose = "a message between processes";
    received.reserve(received.size() + max_message_descriptors);  // a throw later would leak them
    iovec part{.iov_base = buffer.data(), .iov_len = buffer.size()};
    control_room room;
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = room.bytes.data();
    header.msg_controllen = room.bytes.size();
    const ssize_t bytes =
        retried([&] { return calls->recvmsg(socket, &header, MSG_CMSG_CLOEXEC); });
    if (bytes < 0) {
        if (errno == EAGAIN || errno == EWOULDBLOCK)
            return 0;
        if (peer_is_gone(errno))
            return std::nullopt;
        fail("recvmsg", purpose, errno);
    }
    for (cmsghdr* part_of_control = CMSG_FIRSTHDR(&header); part_of_control != nullptr;
         part_of_control = CMSG_NXTHDR(&header, part_of_control)) {
        if (part_of_control->cmsg_level != SOL_SOCKET || part_of_control->cmsg_type != SCM_RIGHTS) {
            continue;
        }
        const std::size_t count = (part_of_control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t i = 0; i < count; ++i) {
            int number = -1;
            std::memcpy(&number, CMSG_DATA(part_of_control) + i * sizeof(int), sizeof(int));
            received.push_back(clear_of_standard(number));
        }
    }
    if (bytes == 0)
        return std::nullopt;
    if ((header.msg_flags & MSG_CTRUNC) != 0) {
        error_details details;
        details.code = errc::resource;
        details.text =
            "recvmsg failed for a message between processes: no descriptor was left for one that "
            "it brought (EMFILE)";
        details.remedy = remedy_for("recvmsg", EMFILE);
        throw error{std::move(details)};
    }
    if ((header.msg_flags & MSG_TRUNC) != 0) {
        throw error{errc::protocol, "a message between processes was larger than agreed"};
    }
    return std::size_t(bytes);
}

pid_t system::try_fork() noexcept {
    return calls->fork();
}

pid_t system::fork(std::string_view purpose) {
    return checked("fork", purpose, [] { return calls->fork(); });
}

descriptor system::pidfd_open(pid_t process, std::string_view purpose) {
    // The kernel makes it CLOEXEC.
    return clear_of_standard(
        checked("pidfd_open", purpose, [&] { return calls->pidfd_open(process, 0); }));
}

bool system::pidfd_signal(int pidfd, int signal, std::string_view purpose) {
    if (retried([&] { return calls->pidfd_send_signal(pidfd, signal, nullptr, 0); }) == 0) {
        return true;
    }
    if (errno == ESRCH)
        return false;
    fail("pidfd_send_signal", purpose, errno);
}

bool system::wait_child(idtype_t kind, id_t id, siginfo_t& info, int options,
                        std::string_view purpose) {
    info = {};
    if (retried([&] { return calls->waitid(kind, id, &info, options); }) == 0) {
        return info.si_pid != 0;
    }
    if (errno == ECHILD)
        return false;
    fail("waitid", purpose, errno);
}

void system::process_control(int operation, unsigned long argument, std::string_view purpose) {
    checked("prctl", purpose, [&] { return calls->prctl(operation, argument, 0, 0, 0); });
}

}  // namespace stoker::detail
