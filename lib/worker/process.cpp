// A forked process starts as a copy of somebody else's life: his signal handlers, his sockets, his
// half-written text, his place in every file. Each function here gives one of these up, and the
// reasons are all faults that users of other loaders met: an inherited lifeline that kept a fork
// server alive, a shared file offset that made a fifth of the samples wrong, a handler of the host
// that answered Ctrl-C in eight workers at once.
//
// A forked process that is a direct child would be seen by the host: its `wait(nullptr)` loop would
// never end. So a middle process forks it and ends at once. That one is made by a clone whose exit
// signal is 0: `wait` does not see such a child without __WALL and no SIGCHLD is raised. The
// process itself is forked by the C library inside it, which sets up what robust mutexes need. The
// middle process borrows the caller's memory, as vfork's child does: a copy for a millisecond's
// life would cost as much as the real one (1,000 MiB held: 108 ms with a copy, 30 ms without).

#include "worker/process.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/prctl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string_view>

#include <stoker/core/error.hpp>
#include "core/descriptor.hpp"
#include "core/system.hpp"

extern "C" void __gcov_dump() __attribute__((weak));  // in coverage builds only

#if defined(__has_feature)  // clang; g++ defines the macros below itself
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif

namespace stoker::detail {
namespace {

#if defined(__SANITIZE_THREAD__)
constexpr std::size_t sanitizer_threads = 1;
constexpr bool sanitized = true;
#elif defined(__SANITIZE_ADDRESS__)
constexpr std::size_t sanitizer_threads = 0;
constexpr bool sanitized = true;
#else
constexpr std::size_t sanitizer_threads = 0;
constexpr bool sanitized = false;
#endif

/// Raised by faults of this process itself; sanitizers report through their handlers.
constexpr std::array fault_signals{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
/// Sent to whole process groups by terminals and batch systems; main alone answers them.
constexpr std::array group_signals{SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

template <std::size_t Count>
bool contains(const std::array<int, Count>& signals, int number) {
    return std::find(signals.begin(), signals.end(), number) != signals.end();
}

void do_nothing(int) {}

/// Calls `visit` with each number that a directory of /proc lists; false when it cannot be read.
template <class Visitor>
bool each_number(const char* directory, Visitor visit) {
    DIR* entries = ::opendir(directory);
    if (entries == nullptr)
        return false;
    const int own = ::dirfd(entries);
    std::vector<int> numbers;
    while (const dirent* entry = ::readdir(entries)) {
        const std::string_view name = entry->d_name;
        int number = 0;
        const auto [end, failure] = std::from_chars(name.data(), name.data() + name.size(), number);
        if (failure == std::errc{} && end == name.data() + name.size() && number != own)
            numbers.push_back(number);
    }
    ::closedir(entries);
    for (const int number : numbers)
        visit(number);
    return true;
}

std::string thread_name(int thread) {
    std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/comm");
    std::string name;
    std::getline(file, name);
    return name.empty() ? std::to_string(thread) : name;
}

bool is_memory_of_ours(int number) {
    char target[64];
    const std::string link = "/proc/self/fd/" + std::to_string(number);
    const auto length = ::readlink(link.c_str(), target, sizeof target);
    return length > 0 &&
           std::string_view(target, static_cast<std::size_t>(length)).starts_with("/memfd:stoker");
}

bool worth_keeping(int number) {
    struct stat status {};
    if (::fstat(number, &status) != 0)
        return false;
    return S_ISDIR(status.st_mode) || (S_ISREG(status.st_mode) && !is_memory_of_ours(number));
}

void reopen(int number) {
    struct stat status {};
    if (::fstat(number, &status) != 0 || !S_ISREG(status.st_mode))
        return;
    const int flags = ::fcntl(number, F_GETFL);
    if (flags < 0 || (flags & O_ACCMODE) != O_RDONLY || (flags & O_PATH) != 0)
        return;
    const int on_exec = ::fcntl(number, F_GETFD) & FD_CLOEXEC;
    const off_t offset = ::lseek(number, 0, SEEK_CUR);
    const std::string link = "/proc/self/fd/" + std::to_string(number);
    const descriptor fresh(::open(link.c_str(), flags | O_CLOEXEC));
    if (!fresh)
        return;  // no right to read it any more: it stays shared
    if (offset > 0)
        ::lseek(fresh.get(), offset, SEEK_SET);
    ::dup3(fresh.get(), number, on_exec != 0 ? O_CLOEXEC : 0);
}

/// The numbers of /proc/self/stat from field 3 on; the name before them may hold anything.
std::vector<std::uint64_t> own_statistics() {
    std::ifstream file("/proc/self/stat");
    std::string line;
    std::getline(file, line);
    const auto end_of_name = line.rfind(')');
    if (end_of_name == std::string::npos || line.size() < end_of_name + 4)
        return {};
    std::istringstream rest(line.substr(end_of_name + 4));  // behind the state
    std::vector<std::uint64_t> numbers(4, 0);               // so that they count as in proc(5)
    for (std::string word; rest >> word;)
        numbers.push_back(std::strtoull(word.c_str(), nullptr, 10));
    return numbers;
}

/// Points the kernel's idea of the command line at a text of ours. The arguments themselves stay as
/// they are: a dataset may hold views of them.
void set_command_line(const std::string& name) {
    const std::vector<std::uint64_t> numbers = own_statistics();
    if (numbers.size() < 52)
        return;
    char* text = ::strdup(name.c_str());  // for as long as the process lives
    prctl_mm_map map{};
    map.start_code = numbers[26];
    map.end_code = numbers[27];
    map.start_stack = numbers[28];
    map.start_data = numbers[45];
    map.end_data = numbers[46];
    map.start_brk = numbers[47];
    map.brk = reinterpret_cast<std::uint64_t>(::sbrk(0));
    map.arg_start = reinterpret_cast<std::uint64_t>(text);
    map.arg_end = map.arg_start + name.size() + 1;
    map.env_start = numbers[50];
    map.env_end = numbers[51];
    map.exe_fd = ~std::uint32_t{0};
    ::prctl(PR_SET_MM, PR_SET_MM_MAP, &map, sizeof map, 0);
}

/// At most `room` bytes from the start, no character of several bytes cut in two.
std::string cut(const std::string& text, std::size_t room) {
    if (text.size() <= room)
        return text;
    while (room > 0 && (static_cast<unsigned char>(text[room]) & 0xC0U) == 0x80U)
        --room;
    return text.substr(0, room);
}

/// "stoker:valid:w12" for "stoker:validation:w12", had it room for 16.
std::string short_name(const std::string& name) {
    constexpr std::size_t room = 15;
    constexpr std::size_t longest_tail = 6;
    const auto colon = name.rfind(':');
    if (name.size() <= room || colon == std::string::npos || name.size() - colon > longest_tail)
        return cut(name, room);
    const std::string tail = name.substr(colon);
    return cut(name.substr(0, colon), room - tail.size()) + tail;
}

struct orphan_start {
    void (*body)(void*);
    void* argument;
    std::jmp_buf place{};  ///< where the orphan goes on, on its copy of the caller's stack
};

bool forked_by_stoker = false;

[[noreturn]] void run_orphan(const orphan_start& start) {
    forked_by_stoker = true;
    start.body(start.argument);
    leave(0);
}

/// The middle process with a copy of everything. Its status is 0, or the errno of the fork.
[[noreturn]] void run_middle(const orphan_start& start) {
    const pid_t child = system::try_fork();
    if (child == 0)
        run_orphan(start);
    ::_exit(child > 0 ? 0 : errno);
}

/// The middle process in the caller's memory, on a stack of its own.
int run_borrowing_middle(void* data) {
    auto& start = *static_cast<orphan_start*>(data);
    const pid_t child = system::try_fork();
    if (child == 0)
        std::longjmp(start.place, 1);
    ::_exit(child > 0 ? 0 : errno);
}

/// Never inlined: the stack must lie below the frame that the orphan jumps back to.
[[gnu::noinline]] pid_t clone_borrowing_middle(orphan_start& start) noexcept {
    alignas(16) char stack[32 * 1024];
    return ::clone(run_borrowing_middle, stack + sizeof stack, CLONE_VM | CLONE_VFORK, &start);
}

[[gnu::noinline]] pid_t start_middle(orphan_start& start) noexcept {
    if constexpr (sanitized) {  // sanitizers know one stack a thread
        const pid_t middle =
            static_cast<pid_t>(::syscall(SYS_clone, 0, nullptr, nullptr, nullptr, 0));
        if (middle == 0)
            run_middle(start);
        return middle;
    }
    if (setjmp(start.place) != 0)
        run_orphan(start);
    return clone_borrowing_middle(start);
}

/// For a process with more threads: only the C library's own fork leaves a copy whose allocator
/// works.
pid_t fork_middle(orphan_start& start) noexcept {
    const pid_t middle = system::try_fork();
    if (middle == 0)
        run_middle(start);
    return middle;
}

int wait_for_middle(pid_t middle) {
    int status = 0;
    while (::waitpid(middle, &status, __WALL) < 0) {
        // A host that ignores SIGCHLD has an ordinary child reaped for it: then its word is lost.
        if (errno != EINTR)
            return errno == ECHILD ? 0 : errno;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
}

}  // namespace

std::vector<std::string> other_threads() {
    const pid_t own = static_cast<pid_t>(::syscall(SYS_gettid));
    std::vector<std::string> names;
    each_number("/proc/self/task", [&](int thread) {
        if (thread != own)
            names.push_back(thread_name(thread));
    });
    if (names.size() <= sanitizer_threads)
        names.clear();
    return names;
}

void require_single_thread() {
    const std::vector<std::string> names = other_threads();
    if (names.empty())
        return;
    std::string text = "the process has " + std::to_string(names.size()) +
                       (names.size() == 1 ? " other thread (" : " other threads (");
    constexpr std::size_t most_named = 8;
    for (std::size_t i = 0; i < std::min(names.size(), most_named); ++i)
        text += (i == 0 ? "\"" : ", \"") + names[i] + "\"";
    text += names.size() > most_named ? ", …), " : "), ";
    text += "and a forked worker would wait for ever on a lock that one of them holds";
    error_details details;
    details.code = errc::threads_at_fork;
    details.text = std::move(text);
    details.remedy =
        "construct loaders first in main, before anything starts a thread (name resolution in Asio "
        "and CUDA do), or put `stoker::fork_server forks;` first in main and build loaders at any "
        "later time from `forks.dataset(captureless_lambda, arguments…)`";
    throw error(std::move(details));
}

blocked_signals::blocked_signals() noexcept {
    sigset_t all;
    ::sigfillset(&all);
    for (const int number : fault_signals)
        ::sigdelset(&all, number);
    ::pthread_sigmask(SIG_BLOCK, &all, &before_);
}

blocked_signals::~blocked_signals() {
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void fork_orphan(void (*body)(void*), void* argument) {
    orphan_start start{body, argument};
    flush_streams();
    const blocked_signals blocked;
    const bool alone = sanitizer_threads == 0 && other_threads().empty();
    const pid_t middle = alone ? start_middle(start) : fork_middle(start);
    if (middle < 0)
        system::fail(alone ? "clone" : "fork", "the fork server", errno);
    if (const int failure = wait_for_middle(middle); failure != 0)
        system::fail("fork", "the fork server", failure);
}

bool is_forked_by_stoker() noexcept {
    return forked_by_stoker;
}

void reset_signals() noexcept {
    struct sigaction standard {};
    standard.sa_handler = SIG_DFL;
    struct sigaction nothing {};
    nothing.sa_handler = do_nothing;
    nothing.sa_flags = SA_RESTART;
    for (int number = 1; number <= SIGRTMAX; ++number) {
        if (number == SIGKILL || number == SIGSTOP)
            continue;
        if (sanitized && number != SIGABRT && contains(fault_signals, number))
            continue;  // by default they leave SIGABRT alone
        struct sigaction now {};
        if (::sigaction(number, nullptr, &now) != 0)
            continue;  // the C library's own
        const bool ignored = (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_IGN;
        if (contains(group_signals, number) && !ignored)
            ::sigaction(number, &nothing, nullptr);
        else if (number == SIGCHLD || !ignored)
            ::sigaction(number, &standard, nullptr);
    }
}

void close_inherited(std::span<const int> kept) {
    const auto consider = [&](int number) {
        if (number <= STDERR_FILENO || std::find(kept.begin(), kept.end(), number) != kept.end())
            return;
        if (!worth_keeping(number))
            ::close(number);
    };
    if (each_number("/proc/self/fd", consider))
        return;
    const int limit = static_cast<int>(std::min<long>(::sysconf(_SC_OPEN_MAX), 65'536));
    for (int number = STDERR_FILENO + 1; number < limit; ++number)
        consider(number);
}

void reopen_inherited_files(std::span<const int> left_out) {
    each_number("/proc/self/fd", [&](int number) {
        if (number > STDERR_FILENO &&
            std::find(left_out.begin(), left_out.end(), number) == left_out.end())
            reopen(number);
    });
}

void name_process(const std::string& name) noexcept {
    try {
        ::prctl(PR_SET_NAME, short_name(name).c_str(), 0, 0, 0);
        set_command_line(name);
    } catch (...) {  // a name is a courtesy
    }
}

void offer_to_oom_killer() noexcept {
    try {
        constexpr int raise = 200;
        constexpr int most = 1000;
        int score = 0;
        std::ifstream("/proc/self/oom_score_adj") >> score;
        std::ofstream("/proc/self/oom_score_adj") << std::min(most, score + raise);
    } catch (...) {  // best effort
    }
}

void flush_streams() noexcept {
    try {
        std::cout.flush();
        std::clog.flush();
        std::wcout.flush();
        std::wclog.flush();
    } catch (...) {  // a stream that throws when it cannot write
    }
    std::fflush(nullptr);
}

void leave(int status) noexcept {
    flush_streams();
    if (__gcov_dump != nullptr)
        __gcov_dump();
    ::_exit(status);
}

void leave_on_exit() noexcept {
    ::on_exit([](int status, void*) { leave(status); }, nullptr);
}

}  // namespace stoker::detail
