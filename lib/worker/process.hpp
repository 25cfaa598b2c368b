#pragma once
// What a process of ours does about what it inherited: signals, descriptors, its name, its end.

#include <signal.h>
#include <sys/types.h>

#include <span>
#include <string>
#include <vector>

namespace stoker::detail {

/// Names of the threads of this process other than the calling one; a sanitizer's own does not
/// count. Empty also where /proc cannot be read.
std::vector<std::string> other_threads();
/// Throws error{threads_at_fork} with their names and the remedy, when there are any.
void require_single_thread();

/// All signals but those that a fault raises are blocked while it lives.
class blocked_signals {
  public:
    blocked_signals() noexcept;
    ~blocked_signals();
    blocked_signals(const blocked_signals&) = delete;
    blocked_signals& operator=(const blocked_signals&) = delete;

    const sigset_t& before() const noexcept { return before_; }

  private:
    sigset_t before_{};
};

/// Forks a process that is nobody's child: the caller's `wait` does not see it and no SIGCHLD is
/// raised for it. It has its own copy of everything, runs `body` with all signals blocked and
/// ends by `_exit` when that returns. Flushes stdio first. Throws error{resource}.
///
/// Where the process has other threads (tolerated ones, or a sanitizer's), its passing middle
/// process is an ordinary child, for which one SIGCHLD is raised.
void fork_orphan(void (*body)(void*), void* argument);

/// Whether this process is one of stoker's: it, or one it comes from, was forked by `fork_orphan`.
bool is_forked_by_stoker() noexcept;

/// Puts dispositions in order after a fork: handlers of the host go (SIG_IGN stays), SIGCHLD is
/// default, and signals that terminals and batch systems send to whole groups do nothing.
void reset_signals() noexcept;

/// Closes every descriptor but 0–2, those of `kept`, regular files and directories. Memory files
/// of stoker's own count as neither.
void close_inherited(std::span<const int> kept);

/// Gives each read-only regular file that is open (0–2 left out) an offset of this process's own,
/// under the same number and at the same place: an inherited one is shared with all relatives.
void reopen_inherited_files(std::span<const int> left_out);

/// The name that `ps` and `top` show. The short form (`comm`) has room for 15 bytes: a longer name
/// is cut there, but for what follows its last colon when that is as short as a worker's number.
void name_process(const std::string& name) noexcept;

/// Out-of-memory killers take workers before the training process.
void offer_to_oom_killer() noexcept;

void flush_streams() noexcept;

/// Flushes and ends the process without running the host's exit handlers or destructors.
[[noreturn]] void leave(int status) noexcept;

/// Whoever calls exit() in this process leaves in that way too.
void leave_on_exit() noexcept;

}  // namespace stoker::detail
