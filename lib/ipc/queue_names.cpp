// Names in /dev/shm are the only things of a loader that outlive its processes. Normally one lives
// for microseconds: the fork server is told it, main creates it, both map it, it is unlinked. The
// name says whose it is, so that the next start can remove what a kill of everything left behind,
// and nothing else: the process id, its start time (ids are used again) and the pid namespace
// (containers may share a /dev/shm without seeing each other's processes).

#include "ipc/queue_names.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <boost/interprocess/exceptions.hpp>
#include <boost/interprocess/ipc/message_queue.hpp>
#include <boost/interprocess/permissions.hpp>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>

#include <stoker/core/error.hpp>
#include "core/system.hpp"
#include "ipc/memory_limits.hpp"

namespace stoker::detail {

namespace interprocess = boost::interprocess;

namespace {

constexpr std::string_view prefix = "stoker-";
constexpr const char* shared_memory_directory = "/dev/shm";

/// Whose a name is.
struct name_owner {
    std::uint64_t pid = 0;
    std::uint64_t start_time = 0;     ///< clock ticks after boot
    std::uint64_t pid_namespace = 0;  ///< inode

    bool operator==(const name_owner&) const = default;
};

/// State letter and start time of a process, from /proc.
struct process_facts {
    char state = '?';
    std::uint64_t start_time = 0;
};

std::optional<process_facts> read_process(std::uint64_t pid) noexcept {
    std::array<char, 32> path{};
    std::snprintf(path.data(), path.size(), "/proc/%llu/stat",
                  static_cast<unsigned long long>(pid));
    const descriptor file{::open(path.data(), O_RDONLY | O_CLOEXEC)};
    std::array<char, 1024> text{};
    const ssize_t bytes = file ? ::read(file.get(), text.data(), text.size()) : -1;
    if (bytes <= 0)
        return std::nullopt;
    // "pid (name) S ppid …": the name may hold anything, so count from its last parenthesis.
    std::string_view rest(text.data(), std::size_t(bytes));
    const std::size_t name_end = rest.rfind(')');
    if (name_end == rest.npos || name_end + 2 >= rest.size())
        return std::nullopt;
    rest.remove_prefix(name_end + 2);
    process_facts facts{.state = rest.front()};
    constexpr int fields_before_start_time = 19;  // state is field 3, start time 22
    for (int i = 0; i < fields_before_start_time; ++i) {
        const std::size_t space = rest.find(' ');
        if (space == rest.npos)
            return std::nullopt;
        rest.remove_prefix(space + 1);
    }
    const auto parsed = std::from_chars(rest.data(), rest.data() + rest.size(), facts.start_time);
    if (parsed.ec != std::errc{})
        return std::nullopt;
    return facts;
}

std::uint64_t own_pid_namespace() noexcept {
    struct stat status {};
    return ::stat("/proc/self/ns/pid", &status) == 0 ? std::uint64_t(status.st_ino) : 0;
}

name_owner this_process() noexcept {
    const auto pid = std::uint64_t(::getpid());
    const auto facts = read_process(pid);
    return {.pid = pid,
            .start_time = facts ? facts->start_time : 0,
            .pid_namespace = own_pid_namespace()};
}

/// The owner that a name names; nullopt when it is no name of ours.
std::optional<name_owner> parse_name(std::string_view name) noexcept {
    if (!name.starts_with(prefix))
        return std::nullopt;
    if (!name.ends_with(".tasks") && !name.ends_with(".results"))
        return std::nullopt;
    name.remove_prefix(prefix.size());
    name_owner owner;
    const auto take = [&name](std::uint64_t& value, char delimiter) {
        const auto parsed = std::from_chars(name.data(), name.data() + name.size(), value);
        const auto length = std::size_t(parsed.ptr - name.data());
        if (parsed.ec != std::errc{} || length >= name.size() || name[length] != delimiter) {
            return false;
        }
        name.remove_prefix(length + 1);
        return true;
    };
    std::uint64_t number = 0;
    if (!take(owner.pid, '-') || !take(owner.start_time, '-') || !take(owner.pid_namespace, '.') ||
        !take(number, '.')) {
        return std::nullopt;
    }
    return owner;
}

bool is_gone(const name_owner& owner) noexcept {
    if (owner.pid == 0 || owner.start_time == 0)
        return false;  // made without /proc: unknown
    if (::kill(pid_t(owner.pid), 0) != 0 && errno == ESRCH)
        return true;
    const auto facts = read_process(owner.pid);
    if (!facts)
        return false;  // alive as far as one can see
    return facts->start_time != owner.start_time || facts->state == 'Z' || facts->state == 'X';
}

/// Bytes of a queue's file, rounded up: Boost keeps the exact figure to itself.
std::uint64_t queue_bytes(std::size_t capacity, std::size_t message_bytes) noexcept {
    constexpr std::uint64_t header_bytes = 4096;
    constexpr std::uint64_t overhead_bytes = 64;  // of a message: its header, index and padding
    return header_bytes + capacity * (message_bytes + overhead_bytes);
}

/// What an errno of /dev/shm means for a user.
std::string_view shared_memory_remedy(int error_number) noexcept {
    switch (error_number) {
        case ENOSPC:
            return "make /dev/shm larger (docker run --shm-size=64m) or remove what fills it: each "
                   "worker needs some 20 KiB there for its queues; batches do not lie there";
        case EMFILE:
        case ENFILE:
            return "raise the limit of open files (ulimit -n), or close some: each worker needs "
                   "about four descriptors here";
        case EEXIST:
            return "remove the file if no process uses it";
        default:
            return "mount a writable tmpfs at /dev/shm: the queues of workers are made there "
                   "(num_workers = 0 works without)";
    }
}

}  // namespace

queue_names make_queue_names() {
    static std::atomic<std::uint64_t> next_number{0};
    const name_owner owner = this_process();
    const std::string stem = std::string(prefix) + std::to_string(owner.pid) + '-' +
                             std::to_string(owner.start_time) + '-' +
                             std::to_string(owner.pid_namespace) + '.' +
                             std::to_string(next_number.fetch_add(1, std::memory_order_relaxed));
    return {.tasks = stem + ".tasks", .results = stem + ".results"};
}

void create_queue(const std::string& name, std::size_t capacity, std::size_t message_bytes) {
    // A file-size limit would end the process by SIGXFSZ rather than fail the call.
    check_file_size_limit(queue_bytes(capacity, message_bytes), "the message queue of a worker");
    int error_number = 0;
    std::string reason;
    try {
        interprocess::permissions only_this_user;
        only_this_user.set_permissions(0600);
        const interprocess::message_queue queue(interprocess::create_only, name.c_str(), capacity,
                                                message_bytes, only_this_user);
        return;
    } catch (const interprocess::interprocess_exception& failure) {
        error_number = failure.get_native_error();
        reason = error_number != 0 ? system::describe(error_number) : failure.what();
        if (error_number != EEXIST)
            unlink_queue(name);
    }
    error_details details;
    details.code = errc::resource;
    details.text = "the message queue /dev/shm/" + name + " could not be created: " + reason;
    details.remedy = shared_memory_remedy(error_number);
    throw error{std::move(details)};
}

void unlink_queue(const std::string& name) noexcept {
    interprocess::message_queue::remove(name.c_str());
}

void sweep_leftover_names() noexcept {
    const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(shared_memory_directory),
                                                        ::closedir);
    if (!directory)
        return;
    const std::uint64_t pid_namespace = own_pid_namespace();
    const uid_t user = ::geteuid();
    while (const dirent* const entry = ::readdir(directory.get())) {
        const auto owner = parse_name(entry->d_name);
        if (!owner || owner->pid_namespace != pid_namespace || !is_gone(*owner))
            continue;
        struct stat status {};
        const int found =
            ::fstatat(::dirfd(directory.get()), entry->d_name, &status, AT_SYMLINK_NOFOLLOW);
        if (found != 0 || status.st_uid != user || !S_ISREG(status.st_mode))
            continue;
        ::unlinkat(::dirfd(directory.get()), entry->d_name, 0);
    }
}

}  // namespace stoker::detail
