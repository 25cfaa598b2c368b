#pragma once
// The one seam between stoker and the kernel: calls retry when interrupted, failures become
// error{resource} with the call, what it was for and errno's text, and a test can replace any call
// to make it fail (`system_calls`).

#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/types.h>
#include <sys/wait.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/descriptor.hpp"

struct itimerspec;
struct msghdr;

namespace stoker::detail {

/// The raw calls, as the C library has them. Real by default; `replaced_system_calls` puts others
/// in their place.
struct system_calls {
    int (*memfd_create)(const char*, unsigned);
    int (*ftruncate)(int, off_t);
    void* (*mmap)(void*, std::size_t, int, int, int, off_t);
    int (*munmap)(void*, std::size_t);
    int (*madvise)(void*, std::size_t, int);
    int (*fallocate)(int, int, off_t, off_t);
    int (*fcntl)(int, int, int);
    int (*eventfd)(unsigned, int);
    int (*epoll_create1)(int);
    int (*epoll_ctl)(int, int, int, epoll_event*);
    int (*epoll_wait)(int, epoll_event*, int, int);
    int (*timerfd_create)(int, int);
    int (*timerfd_settime)(int, int, const itimerspec*, itimerspec*);
    int (*socketpair)(int, int, int, int*);
    ssize_t (*sendmsg)(int, const msghdr*, int);
    ssize_t (*recvmsg)(int, msghdr*, int);
    ssize_t (*read)(int, void*, std::size_t);
    ssize_t (*write)(int, const void*, std::size_t);
    int (*open)(const char*, int, mode_t);
    int (*poll)(pollfd*, nfds_t, int);
    pid_t (*fork)();
    int (*pidfd_open)(pid_t, unsigned);
    int (*pidfd_send_signal)(int, int, siginfo_t*, unsigned);
    int (*waitid)(idtype_t, id_t, siginfo_t*, int);
    int (*close_range)(unsigned, unsigned, int);
    int (*prctl)(int, unsigned long, unsigned long, unsigned long, unsigned long);

    static const system_calls& real() noexcept;
};

/// Replaces calls while it lives: for tests only, one at a time, while no other thread is in a
/// call. The table is borrowed.
class replaced_system_calls {
  public:
    explicit replaced_system_calls(const system_calls& table) noexcept;
    ~replaced_system_calls();
    replaced_system_calls(const replaced_system_calls&) = delete;
    replaced_system_calls& operator=(const replaced_system_calls&) = delete;

  private:
    const system_calls* before_;
};

/// Most descriptors in one message.
inline constexpr std::size_t max_message_descriptors = 8;

enum class send_outcome {
    sent,
    would_block,  ///< the socket is non-blocking and full
    closed,       ///< the other end is gone
};

/// Calls with a purpose. `purpose` completes "… failed for <purpose>": "the slab's memory". All
/// throw error{resource} unless they are noexcept; all descriptors are CLOEXEC.
///
/// Thread safety: as the calls themselves.
class system {
  public:
    // Memory.
    static descriptor memory_file(const char* name, std::string_view purpose);  // may be sealed
    static void set_size(int file, std::uint64_t bytes, std::string_view purpose);
    /// Seals by fcntl(F_ADD_SEALS).
    static void add_seals(int file, int seals, std::string_view purpose);
    /// A new mapping; `address` is a hint, or binding with MAP_FIXED.
    static std::byte* map(void* address, std::uint64_t bytes, int protection, int flags, int file,
                          std::uint64_t offset, std::string_view purpose);
    static void unmap(void* address, std::uint64_t bytes) noexcept;
    /// 0, or the errno of madvise: most advice is best effort.
    static int advise(void* address, std::uint64_t bytes, int advice) noexcept;
    /// Frees the pages of a range, which then reads as zeros; 0 or errno.
    static int punch_hole(int file, std::uint64_t offset, std::uint64_t bytes) noexcept;

    // Descriptors.
    static descriptor event(std::string_view purpose);  // eventfd, non-blocking
    static descriptor epoll(std::string_view purpose);
    static void epoll_add(int set, int number, std::uint32_t events, std::uint64_t tag,
                          std::string_view purpose);
    static void epoll_change(int set, int number, std::uint32_t events, std::uint64_t tag,
                             std::string_view purpose);
    /// A number that is not in the set is no error.
    static void epoll_remove(int set, int number) noexcept;
    /// Ready events, at most `timeout_ms` later (-1: no limit). An interrupted wait starts again
    /// with what was left of its time.
    static std::size_t epoll_wait(int set, std::span<epoll_event> events, int timeout_ms,
                                  std::string_view purpose);
    static descriptor timer(std::string_view purpose);  // timerfd, CLOCK_MONOTONIC, non-blocking
    /// Once, `nanoseconds` from now; 0 disarms.
    static void set_timer(int timer, std::uint64_t nanoseconds, std::string_view purpose);
    /// Number of ready entries, at most `timeout_ms` later (-1: no limit); as `epoll_wait`.
    static std::size_t poll(std::span<pollfd> entries, int timeout_ms, std::string_view purpose);
    /// Whether one descriptor gets readable, or has hung up, in that time.
    static bool wait_readable(int number, int timeout_ms, std::string_view purpose);
    static descriptor open(const std::string& path, int flags, std::string_view purpose,
                           mode_t mode = 0600);
    /// Bytes read; 0 at the end; nullopt when it would block.
    static std::optional<std::size_t> read(int number, std::span<std::byte> buffer,
                                           std::string_view purpose);
    /// Writes everything; waits where the descriptor would block.
    static void write_all(int number, std::span<const std::byte> bytes, std::string_view purpose);
    static void set_non_blocking(int number, bool on, std::string_view purpose);
    /// 0 or errno. `last` is included.
    static int close_range(unsigned first, unsigned last) noexcept;

    // Messages with descriptors, over a SOCK_SEQPACKET pair.
    struct socket_pair {
        descriptor first{};
        descriptor second{};
    };
    static socket_pair message_sockets(std::string_view purpose);  // blocking
    /// One message, 1 byte up, with at most `max_message_descriptors` borrowed descriptors. Never
    /// raises SIGPIPE.
    static send_outcome send_message(int socket, std::span<const std::byte> message,
                                     std::span<const int> descriptors);
    /// One message: its bytes; 0: would block (no message is empty); nullopt: the other end is
    /// gone. Descriptors that came along are appended, CLOEXEC. A message that is larger than the
    /// buffer is error{protocol}.
    static std::optional<std::size_t> receive_message(int socket, std::span<std::byte> buffer,
                                                      std::vector<descriptor>& received);

    // Processes.
    /// As fork(2) by the C library: 0 in the child.
    static pid_t fork(std::string_view purpose);
    /// The bare call, for where no exception may leave: -1 with errno when it fails.
    static pid_t try_fork() noexcept;
    static descriptor pidfd_open(pid_t process, std::string_view purpose);
    /// False when the process is gone already.
    static bool pidfd_signal(int pidfd, int signal, std::string_view purpose);
    /// False when there was nothing to report (WNOHANG) or no such child.
    static bool wait_child(idtype_t kind, id_t id, siginfo_t& info, int options,
                           std::string_view purpose);
    static void process_control(int operation, unsigned long argument, std::string_view purpose);

    /// error{resource}: "<call> failed for <purpose>: No space left on device (ENOSPC)", with what
    /// to do about that errno.
    [[noreturn]] static void fail(std::string_view call, std::string_view purpose,
                                  int error_number);
    /// "No space left on device (ENOSPC)".
    static std::string describe(int error_number);
};

}  // namespace stoker::detail
