#pragma once
// Main's end of the fork server. CONTRACT: the loader room (lib/loader) uses just this; the owner
// of lib/worker implements it and may add.

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <stoker/collate/fetcher.hpp>
#include <stoker/worker/fetcher_recipe.hpp>
#include "core/descriptor.hpp"
#include "ipc/queue_names.hpp"
#include "ipc/slab.hpp"
#include "worker/server_messages.hpp"

namespace stoker::detail {

/// What all workers of a loader share. Descriptors travel by SCM_RIGHTS (or by the fork).
struct worker_environment {
    slot_geometry geometry{};
    int slab_memory = -1;     ///< borrowed
    int control_memory = -1;  ///< borrowed
    int result_bell = -1;     ///< borrowed; one for all workers
    int num_workers = 0;
    int worker_threads = 0;  ///< most of each pool inside a worker; 0: as they come
    std::uint64_t seed = 0;
    int in_flight = 1;                ///< samples of a coroutine dataset at once in a worker
    bool skip_bad = false;            ///< leave out samples that fail
    std::int64_t sample_timeout = 0;  ///< milliseconds; 0: none
    std::string name{};               ///< loader's name, for process names: "stoker:<name>:w3"
};

struct server_event {
    enum class kind {
        spawned,      ///< worker has a process: pid, pidfd
        not_spawned,  ///< fork failed: text
        exited,       ///< status: as waitid gives it (si_code, si_status)
        stopped,      ///< the worker process was stopped (SIGSTOP …)
        continued,
    };
    kind what{};
    int worker = -1;
    pid_t pid = 0;
    descriptor pidfd{};  ///< spawned: opened by the server before it could reap the worker
    int code = 0;        ///< exited: CLD_EXITED, CLD_KILLED, CLD_DUMPED
    int status = 0;      ///< exited: exit status or signal
    /// not_spawned: why; spawned without a pidfd: why there is none; exited: why it could not start
    /// (status `worker_start_status`), or empty.
    std::string text{};
};

/// The process that forks, reaps and replaces workers. Destroying the link ends server and workers
/// (EOF on the lifeline; bounded by the caller with the pidfds). Moved from: not connected.
///
/// Thread safety: one thread at a time, which may change.
class server_link {
  public:
    /// Forks the server from this process (orphaned on purpose, single-threaded, nothing of the
    /// host's but 0–2, regular files and directories). Throws error{threads_at_fork} unless
    /// `with_threads`. The fetcher lives in main; the server has its copy-on-write copy.
    static server_link fork_here(fetcher& source, const std::string& name, bool with_threads);
    /// Has the process of a `stoker::fork_server` fork a server of this loader's own and build the
    /// dataset there. Waits, bounded, for its report; gives the dataset's size, and a stream's
    /// shape, or throws its error.
    static server_link fork_from(const fetcher_recipe& recipe, const std::string& name,
                                 std::uint64_t& dataset_size, std::optional<stream_shape>& stream);
    server_link() = default;
    server_link(server_link&&) noexcept = default;
    server_link& operator=(server_link&&) noexcept;
    ~server_link();

    /// Once, before the first spawn: what its workers share.
    void set_up(const worker_environment& environment);
    /// Tells the server the names of a pair *before* main creates the queues (it unlinks them when
    /// main is gone). Then main creates both queues, then calls `spawn`.
    void announce(int worker, const queue_names& names);
    /// Asks for a worker: the server forks it and sends `spawned`; the worker opens the queues and
    /// unlinks their names. `task_bell` is the worker's own eventfd (borrowed, sent along).
    void spawn(int worker, const queue_names& names, int task_bell);
    /// Has the server end a worker, for want of a pidfd.
    void kill(int worker);
    /// Throws error{fork_server_died} when the server is gone, or ends within that time.
    void require_alive(std::chrono::milliseconds patience);
    /// The next event without waiting; nullopt: none now. Throws error{fork_server_died} on EOF.
    std::optional<server_event> try_event();
    int socket() const { return socket_.get(); }  ///< readable when an event may be there
    int pidfd() const { return pidfd_.get(); }    ///< readable when the server is dead
    pid_t pid() const { return pid_; }
    bool connected() const { return static_cast<bool>(socket_); }
    /// Closes the lifeline: the server kills its workers and ends. `pidfd` stays, to wait for that.
    /// Idempotent, never throws.
    void close() noexcept;

  private:
    explicit server_link(descriptor socket);
    void wait_for_hello();
    std::optional<server_report> receive(std::vector<descriptor>& passed);
    void send(const server_request& request, std::span<const int> passed);
    bool note_end(const server_report& report);
    [[noreturn]] void fail_dead();
    void forget_names(int worker) noexcept;

    descriptor socket_{};
    descriptor pidfd_{};
    pid_t pid_ = 0;
    std::map<int, queue_names> names_{};  ///< that a server which was killed leaves to main
    std::string ending_{};                ///< how the server ended, where somebody has seen it
};

}  // namespace stoker::detail
