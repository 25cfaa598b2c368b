#pragma once
// Main's view of a loader's workers: the link to their fork server, a queue pair each, who lives,
// who has how much to do. One epoll set stands for all bells, deaths and deadlines, so that a
// waiting `next()` binds a single descriptor.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <stoker/core/error.hpp>
#include "core/descriptor.hpp"
#include "ipc/control.hpp"
#include "ipc/doorbell.hpp"
#include "ipc/gated_queue.hpp"
#include "loader/task_backlog.hpp"
#include "worker/server_link.hpp"

namespace stoker::detail {

using loader_clock = std::chrono::steady_clock;

/// One worker as main sees it.
struct worker_view {
    enum class state {
        absent,    ///< no process, none asked for
        starting,  ///< asked for; its queues exist and take tasks already
        running,
        dying,  ///< its process is gone; how it ended is not known yet
        dead,   ///< gone, and its end is known or was waited for long enough
    };
    state now = state::absent;
    pid_t pid = 0;
    descriptor pidfd{};
    doorbell bell{};  ///< rings the worker; kept over its successors
    main_sender tasks{};
    main_receiver results{};
    task_backlog backlog{};  ///< assigned, not yet in the queue: the worker was in its gate
    std::uint32_t outstanding = 0;
    bool stopped = false;
    bool buried = false;
    bool aside = false;   ///< `choose` leaves it out
    bool broken = false;  ///< its queue was lost or it broke the protocol: it is killed
    std::optional<loader_clock::time_point> killed{};  ///< and when
    loader_clock::time_point since{};                  ///< when `now`, or `stopped`, began
    int code = 0;  ///< of its end, as waitid gives it; 0: unknown
    int status = 0;
    std::string end_text{};  ///< why it could not start, when the fork server was told
};

/// Thread safety: one thread at a time.
class worker_group {
  public:
    struct limits {
        int num_workers = 0;
        std::uint32_t tasks_a_worker = 0;  ///< most tasks outstanding at one worker
    };

    /// The result bell is borrowed for the group's life.
    worker_group(server_link link, limits bounds, const doorbell& result_bell);
    worker_group(const worker_group&) = delete;
    worker_group& operator=(const worker_group&) = delete;
    ~worker_group();

    int control_memory() const { return control_.memory_descriptor(); }
    control_words& words() const { return control_.words(); }
    server_link& link() { return link_; }
    const worker_view& view(int worker) const { return workers_[to_size(worker)]; }
    int count() const { return static_cast<int>(workers_.size()); }

    /// Starts every worker that is absent, or dead and buried, with new queues.
    void start_missing();
    /// Asks all to end, waits at most `grace`, then kills; returns when all are gone or after
    /// `patience` more.
    void stop_all(std::chrono::milliseconds grace, std::chrono::milliseconds patience) noexcept;
    void kill(int worker) noexcept;
    /// Nothing of it is left; otherwise its end is still to come.
    bool is_gone(int worker) const;
    /// One that was killed and does not die (it waits in the kernel, in a way that no signal ends)
    /// makes room for a successor. It may still have a system call write to its slots.
    void leave_behind(int worker);
    /// Whether one that was left behind is gone at last.
    bool has_died(pid_t left_behind) const;
    /// Ends workers and fork server, within a second whatever state they are in. The group
    /// keeps its descriptors, so that a pending wait can still be woken.
    void end() noexcept;

    /// The living worker with the fewest outstanding tasks, then round robin; -1: none.
    int choose();
    /// A living worker without any task; -1: none.
    int choose_idle() const;
    /// Takes it out of the choice, or puts it back; a successor is back.
    void set_aside(int worker, bool aside) { workers_[to_size(worker)].aside = aside; }
    /// Lives, and has room for a task.
    bool can_take(int worker) const;
    /// Gives it the task; never blocks, never fails: what cannot be sent now waits in the backlog.
    void assign(int worker, const task_message& task);
    /// Drops the tasks that no worker has seen, calling `each(task)`.
    template <class Each>
    void withdraw_backlog(Each&& each) {
        for (worker_view& worker : workers_) {
            while (!worker.backlog.empty()) {
                each(worker.backlog.front());
                worker.backlog.pop();
                --worker.outstanding;
            }
        }
    }
    /// The next result of a worker, if one is there.
    bool try_receive(int worker, result_message& result);
    void flush_backlogs();
    /// Wakes the workers that have tasks and nap.
    void ring_napping();
    /// Wakes all that have tasks.
    void ring_all() noexcept;
    /// Whether a look at a worker's results is worth it; one load.
    bool likely_result(int worker) const {
        const worker_view& view = workers_[to_size(worker)];
        return view.results && view.results.likely_ready();
    }
    /// It answered one of its tasks.
    void finish_task(int worker) { --workers_[to_size(worker)].outstanding; }

    /// After it, one more look at results and backlogs, then `wait_descriptor()` may be waited for.
    /// Only `worker`'s results ring when it is not negative: others are collected when it does.
    void want_bells(int worker);
    /// Readable when anything may have happened.
    int wait_descriptor() const { return epoll_.get(); }
    /// Takes note of what woke us, without waiting; true when the deadline timer went off.
    bool take_events();
    void set_deadline(std::optional<loader_clock::time_point> deadline);
    /// Deaths whose story is complete, or was waited for long enough, become `dead`: to be buried.
    void settle_deaths(loader_clock::time_point now);
    /// When to look again at deaths whose story is not complete.
    std::optional<loader_clock::time_point> next_settlement() const;
    /// A dead worker's place is cleared for a successor; false when that was done before.
    bool bury(int worker);
    /// So much of what was measured lately does not count: this process was stopped itself, or may
    /// have been.
    void forgive(loader_clock::duration span);
    const worker_words& words_of(int worker) const { return control_.worker(worker); }

    /// Lets the processes of the loader that were stopped go on.
    void wake_stopped() noexcept;
    void kill_server() noexcept;
    /// The fork server is gone, and its workers with it: they are seen dead after this, but for
    /// one that cannot die yet. About a second at most.
    void lose_workers();
    /// Goes on with another fork server, which knows nothing yet.
    void adopt(server_link successor);

    std::vector<pid_t> processes() const;
    /// "worker 2 (pid 4711) was killed by signal 9 (Killed)".
    std::string describe_end(int worker) const;

  private:
    /// Of epoll, for any of those left behind; others are small.
    static constexpr std::uint64_t undead_event = std::uint64_t{1} << 63;

    struct undead {
        pid_t pid = 0;
        descriptor pidfd{};
    };

    static std::size_t to_size(int worker) { return static_cast<std::size_t>(worker); }
    void start(int worker);
    static void kill(worker_view& worker) noexcept;
    static bool takes_tasks(const worker_view& worker);
    void flush(worker_view& worker);
    void watch_bells();
    void watch_server();
    void take_server_events();
    void apply(server_event event);
    void begin(worker_view& worker, server_event event);
    void note_death(worker_view& worker);
    void bury_undead();
    bool anyone_left() const;
    int find(pid_t pid) const;

    server_link link_;
    control_block control_;
    std::vector<worker_view> workers_;
    std::vector<undead> undead_{};
    limits limits_;
    const doorbell& result_bell_;
    descriptor epoll_;
    descriptor timer_;
    std::optional<loader_clock::time_point> timer_armed_{};  ///< for when
    int next_choice_ = 0;
};

}  // namespace stoker::detail
