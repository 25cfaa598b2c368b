// What wakes main: bells, deadlines, the fork server's word, the end of a process.
//
// Facts and details of a death come apart: a worker's pidfd says *that* it is gone (and only then
// is its gate ignored), the fork server's message says *how*. The message is waited for at most
// 100 ms, never longer: a stopped fork server must not delay the report.
//
// Results are always drained after a death was seen and before it is reported: a worker may have
// published a result and died before it rang the bell.

#include <sys/epoll.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "core/system.hpp"
#include "loader/worker_group.hpp"

namespace stoker::detail {

namespace {

constexpr std::chrono::milliseconds end_patience{1000};

enum class tag : std::uint64_t { bell, timer, server, server_pidfd, worker };

constexpr std::uint64_t make_tag(tag kind, int worker = 0) {
    return static_cast<std::uint64_t>(kind) << 32 | static_cast<std::uint32_t>(worker);
}

void signal_quietly(int pidfd, int signal) noexcept {
    try {
        if (pidfd >= 0)
            system::pidfd_signal(pidfd, signal, "a process of the loader");
    } catch (...) {  // it is gone, or not ours any more
    }
}

}  // namespace

void worker_group::watch_bells() {
    system::epoll_add(epoll_.get(), result_bell_.number(), EPOLLIN, make_tag(tag::bell),
                      "result bell");
    system::epoll_add(epoll_.get(), timer_.get(), EPOLLIN, make_tag(tag::timer), "deadlines");
}

void worker_group::watch_server() {
    if (!link_.connected())
        return;
    system::epoll_add(epoll_.get(), link_.socket(), EPOLLIN, make_tag(tag::server),
                      "the fork server");
    system::epoll_add(epoll_.get(), link_.pidfd(), EPOLLIN, make_tag(tag::server_pidfd),
                      "the fork server's end");
}

void worker_group::wake_stopped() noexcept {
    signal_quietly(link_.pidfd(), SIGCONT);
    for (const worker_view& worker : workers_)
        signal_quietly(worker.pidfd.get(), SIGCONT);
}

void worker_group::kill_server() noexcept {
    signal_quietly(link_.pidfd(), SIGKILL);
}

/// Workers die with their fork server; one that cannot die now keeps what it has until it does.
void worker_group::lose_workers() {
    for (int worker = 0; worker < count(); ++worker)
        kill(worker);
    const auto end = loader_clock::now() + end_patience;
    for (worker_view& worker : workers_) {
        const bool unseen = worker.now == worker_view::state::starting && !worker.pidfd;
        if (worker.now == worker_view::state::running) {
            const auto left =
                std::chrono::ceil<std::chrono::milliseconds>(end - loader_clock::now());
            const int patience = static_cast<int>(std::max<std::int64_t>(left.count(), 0));
            if (worker.pidfd &&
                !system::wait_readable(worker.pidfd.get(), patience, "a worker's end"))
                continue;
        }
        if (worker.now == worker_view::state::running || unseen)
            note_death(worker);
        if (worker.now == worker_view::state::dying)
            worker.now = worker_view::state::dead;
    }
}

void worker_group::adopt(server_link successor) {
    system::epoll_remove(epoll_.get(), link_.socket());
    system::epoll_remove(epoll_.get(), link_.pidfd());
    // Where this process is PID 1, or a subreaper, it has adopted the server that is gone.
    siginfo_t ignored{};
    system::wait_child(P_PIDFD, static_cast<id_t>(link_.pidfd()), ignored,
                       WEXITED | WNOHANG | __WALL, "the fork server's end");
    link_ = std::move(successor);
    watch_server();
}

void worker_group::note_death(worker_view& worker) {
    if (worker.pidfd)
        system::epoll_remove(epoll_.get(), worker.pidfd.get());
    worker.pidfd.reset();
    worker.tasks.peer_is_dead();
    worker.results.peer_is_dead();
    worker.now = worker_view::state::dying;
    worker.since = loader_clock::now();
}

bool worker_group::take_events() {
    epoll_event events[16];
    bool timer_fired = false;
    const std::size_t ready = system::epoll_wait(epoll_.get(), events, 0, "the loader's events");
    for (std::size_t i = 0; i < ready; ++i) {
        const std::uint64_t data = events[i].data.u64;
        if (data == undead_event) {
            bury_undead();
            continue;
        }
        switch (static_cast<tag>(data >> 32)) {
            case tag::bell:
                result_bell_.clear();
                break;
            case tag::timer: {
                std::uint64_t expirations = 0;
                system::read(timer_.get(), std::as_writable_bytes(std::span(&expirations, 1)),
                             "deadlines");
                timer_fired = true;
                timer_armed_.reset();
                break;
            }
            case tag::server:
                take_server_events();
                break;
            case tag::server_pidfd:
                take_server_events();  // what it said before it ended
                throw error(errc::fork_server_died, "the process that forks the workers (pid " +
                                                        std::to_string(link_.pid()) +
                                                        ") is gone, and its workers with it");
            case tag::worker: {
                const auto number = static_cast<std::uint32_t>(data);
                if (workers_[number].pidfd)
                    note_death(workers_[number]);
                break;
            }
        }
    }
    return timer_fired;
}

void worker_group::take_server_events() {
    while (auto event = link_.try_event())
        apply(std::move(*event));
}

int worker_group::find(pid_t pid) const {
    for (int worker = 0; worker < count(); ++worker) {
        if (workers_[to_size(worker)].pid == pid)
            return worker;
    }
    return -1;
}

void worker_group::apply(server_event event) {
    using kind = server_event::kind;
    // It forks one after the other: what it says shows that it is at work for all of them.
    for (worker_view& worker : workers_) {
        if (worker.now == worker_view::state::starting)
            worker.since = loader_clock::now();
    }
    if (event.what == kind::spawned)
        return begin(workers_[to_size(event.worker)], std::move(event));
    if (event.what == kind::not_spawned) {
        workers_[to_size(event.worker)].now = worker_view::state::dead;
        throw error(errc::worker_start_failed, "worker " + std::to_string(event.worker) +
                                                   " could not be forked: " + event.text);
    }
    const int number = find(event.pid);
    if (number < 0)
        return;  // of a predecessor
    worker_view& worker = workers_[to_size(number)];
    if (event.what == kind::exited) {
        worker.code = event.code;
        worker.status = event.status;
        worker.end_text = std::move(event.text);
        // Reaped by the fork server: certainly gone, even if its pidfd was not looked at yet.
        if (worker.now == worker_view::state::running)
            note_death(worker);
    } else {
        worker.stopped = event.what == kind::stopped;
        worker.since = loader_clock::now();
    }
}

/// Never a worker that nobody watches: without a descriptor for it, or room to watch one, it is
/// ended, and its end comes by the fork server's word.
void worker_group::begin(worker_view& worker, server_event event) {
    worker.pid = event.pid;
    worker.pidfd = std::move(event.pidfd);
    worker.now = worker_view::state::running;
    if (!worker.pidfd) {
        worker.broken = true;
        link_.kill(event.worker);
        throw error(errc::resource, event.text);
    }
    if (worker.broken)
        kill(worker);
    try {
        system::epoll_add(epoll_.get(), worker.pidfd.get(), EPOLLIN,
                          make_tag(tag::worker, event.worker), "a worker's end");
    } catch (...) {
        kill(worker);
        throw;
    }
}

void worker_group::set_deadline(std::optional<loader_clock::time_point> deadline) {
    if (!deadline) {
        if (timer_armed_)
            system::set_timer(timer_.get(), 0, "no deadline");
        timer_armed_.reset();
        return;
    }
    const auto now = loader_clock::now();
    // Woken too early, main looks again and sleeps on: cheaper than to set the timer for each wait.
    if (timer_armed_ && *timer_armed_ <= *deadline && *timer_armed_ > now)
        return;
    const auto left = std::chrono::nanoseconds(*deadline - now).count();
    system::set_timer(timer_.get(), static_cast<std::uint64_t>(std::max<long>(left, 1)),
                      "a deadline");
    timer_armed_ = deadline;
}

}  // namespace stoker::detail
