// Workers from start to end, and who gets the next task. What wakes main is in
// worker_group_events.cpp.

#include "loader/worker_group.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <utility>

#include "core/system.hpp"

namespace stoker::detail {

namespace {

constexpr std::chrono::milliseconds detail_patience{100};
/// At the end of a loader, all together within a second.
constexpr std::chrono::milliseconds end_grace{50};
constexpr std::chrono::milliseconds kill_patience{400};
constexpr std::chrono::milliseconds server_patience{500};
constexpr std::chrono::milliseconds end_of_server_patience{200};
/// A stop message and some room: tasks_a_worker is the bound that matters.
constexpr std::size_t queue_reserve = 4;
constexpr int starts_between_looks = 16;  ///< the sockets hold some hundred messages

}  // namespace

worker_group::worker_group(server_link link, limits bounds, const doorbell& result_bell)
    : link_(std::move(link)),
      control_(control_block::create(bounds.num_workers)),
      workers_(to_size(bounds.num_workers)),
      limits_(bounds),
      result_bell_(result_bell),
      epoll_(system::epoll("the loader's wait")),
      timer_(system::timer("the loader's deadlines")) {
    watch_bells();
    watch_server();
    for (worker_view& worker : workers_)
        worker.bell = doorbell::create();
}

worker_group::~worker_group() {
    end();
}

void worker_group::end() noexcept {
    if (!link_.connected())
        return;
    stop_all(end_grace, kill_patience);
    const int server_pidfd = link_.pidfd();
    link_.close();
    if (server_pidfd < 0)
        return;
    try {
        system::wait_readable(server_pidfd, static_cast<int>(server_patience.count()),
                              "the fork server's end");
        // Where this process is PID 1, or a subreaper, it has adopted the server.
        siginfo_t ignored{};
        system::wait_child(P_PIDFD, static_cast<id_t>(server_pidfd), ignored,
                           WEXITED | WNOHANG | __WALL, "the fork server's end");
    } catch (...) {  // a destructor has nobody to tell; the lifeline is closed
    }
}

void worker_group::start_missing() {
    for (int number = 0; number < count(); ++number) {
        const worker_view& worker = workers_[to_size(number)];
        // Not before it is buried: its tasks would be forgotten.
        if (worker.now == worker_view::state::absent ||
            (worker.now == worker_view::state::dead && worker.buried))
            start(number);
        // Its answers are taken in between: full of them, the socket would hold the fork server up,
        // which would take no more requests.
        if (number % starts_between_looks == starts_between_looks - 1)
            take_server_events();
    }
}

void worker_group::start(int number) {
    worker_view& worker = workers_[to_size(number)];
    const std::size_t capacity = limits_.tasks_a_worker + queue_reserve;
    worker.now = worker_view::state::absent;  // what it stays should anything below throw
    worker.tasks = main_sender();             // leave the old queues before the words are reset
    worker.results = main_receiver();
    worker.bell.clear();
    control_.reset_worker(number);
    const queue_names names = make_queue_names();
    link_.announce(number, names);
    try {
        create_queue(names.tasks, capacity, sizeof(task_message));
        create_queue(names.results, capacity, sizeof(result_message));
        worker_words& words = control_.worker(number);
        worker.tasks = main_sender(names.tasks, words, worker.bell);
        worker.results = main_receiver(names.results, words, worker.bell);
        link_.spawn(number, names, worker.bell.number());
    } catch (...) {
        unlink_queue(names.tasks);
        unlink_queue(names.results);
        worker.tasks = main_sender();
        worker.results = main_receiver();
        // A fork server on its way out unlinks the names that it knows.
        link_.require_alive(end_of_server_patience);
        throw;
    }
    worker.backlog.reset(capacity);
    worker.outstanding = 0;
    worker.stopped = worker.broken = worker.buried = worker.aside = false;
    worker.killed.reset();
    worker.pid = 0;
    worker.pidfd.reset();
    worker.code = worker.status = 0;
    worker.end_text.clear();
    worker.now = worker_view::state::starting;
    worker.since = loader_clock::now();
}

void worker_group::kill(int number) noexcept {
    kill(workers_[to_size(number)]);
}

void worker_group::kill(worker_view& worker) noexcept {
    worker.broken = true;
    if (!worker.pidfd)
        return;
    if (!worker.killed)
        worker.killed = loader_clock::now();
    try {
        system::pidfd_signal(worker.pidfd.get(), SIGKILL, "a stuck worker");
    } catch (...) {  // it is gone, or the fork server's end will take it along
    }
}

bool worker_group::anyone_left() const {
    return std::any_of(workers_.begin(), workers_.end(), [](const worker_view& worker) {
        return worker.now == worker_view::state::starting ||
               worker.now == worker_view::state::running;
    });
}

void worker_group::stop_all(std::chrono::milliseconds grace,
                            std::chrono::milliseconds patience) noexcept {
    task_message stop{};
    stop.kind = static_cast<std::uint32_t>(task_kind::stop);
    bool killed = false;
    auto limit = loader_clock::now() + grace;
    try {
        if (!link_.connected())
            return;
        withdraw_backlog([](const task_message&) {});
        for (worker_view& worker : workers_) {
            if (worker.now == worker_view::state::running ||
                worker.now == worker_view::state::starting) {
                worker.tasks.try_send(stop);  // withdrawn or full: it is killed below
                worker.tasks.ring_napping();
            }
        }
        while (anyone_left()) {
            const auto left =
                std::chrono::ceil<std::chrono::milliseconds>(limit - loader_clock::now());
            if (left.count() <= 0) {
                if (killed)
                    break;
                for (int worker = 0; worker < count(); ++worker)
                    kill(worker);
                killed = true;
                limit = loader_clock::now() + patience;
                continue;
            }
            system::wait_readable(epoll_.get(), static_cast<int>(left.count()), "workers' end");
            try {
                take_events();
            } catch (const error& failure) {  // a start that failed is one worker less to wait for
                if (failure.code() == errc::fork_server_died)
                    break;
            }
        }
    } catch (...) {  // the fork server kills what is left when the lifeline closes
    }
    for (worker_view& worker : workers_) {
        if (worker.now == worker_view::state::dying || worker.now == worker_view::state::dead)
            worker.now = worker_view::state::absent;
        else if (worker.now != worker_view::state::absent)
            worker.broken = true;  // still there: its end will be noticed, or its start undone
    }
}

bool worker_group::is_gone(int worker) const {
    return workers_[to_size(worker)].now == worker_view::state::absent;
}

bool worker_group::takes_tasks(const worker_view& worker) {
    const bool alive =
        worker.now == worker_view::state::running || worker.now == worker_view::state::starting;
    return alive && !worker.broken && !worker.aside;
}

int worker_group::choose_idle() const {
    for (int candidate = 0; candidate < count(); ++candidate) {
        const worker_view& worker = workers_[to_size(candidate)];
        if (takes_tasks(worker) && worker.outstanding == 0)
            return candidate;
    }
    return -1;
}

bool worker_group::can_take(int number) const {
    const worker_view& worker = workers_[to_size(number)];
    return takes_tasks(worker) && worker.outstanding < limits_.tasks_a_worker;
}

int worker_group::choose() {
    int best = -1;
    const int total = count();
    for (int step = 0; step < total; ++step) {
        const int candidate = (next_choice_ + step) % total;
        const worker_view& worker = workers_[to_size(candidate)];
        if (!can_take(candidate))
            continue;
        if (best < 0 || worker.outstanding < workers_[to_size(best)].outstanding)
            best = candidate;
    }
    if (best >= 0)
        next_choice_ = (best + 1) % total;
    return best;
}

void worker_group::assign(int number, const task_message& task) {
    worker_view& worker = workers_[to_size(number)];
    worker.backlog.push(task);
    ++worker.outstanding;
    flush(worker);
}

void worker_group::flush(worker_view& worker) {
    while (!worker.backlog.empty()) {
        const attempt sent = worker.tasks.try_send(worker.backlog.front());
        if (sent == attempt::lost)
            kill(worker);
        if (sent != attempt::done)
            return;
        worker.backlog.pop();
    }
}

void worker_group::flush_backlogs() {
    for (worker_view& worker : workers_) {
        if (!worker.backlog.empty())
            flush(worker);
    }
}

void worker_group::ring_all() noexcept {
    for (const worker_view& worker : workers_) {
        if (worker.outstanding > 0)
            worker.bell.ring();
    }
}

void worker_group::ring_napping() {
    for (worker_view& worker : workers_) {
        if (worker.outstanding > 0)
            worker.tasks.ring_napping();
    }
}

bool worker_group::try_receive(int number, result_message& result) {
    worker_view& worker = workers_[to_size(number)];
    if (!worker.results)
        return false;
    const attempt got = worker.results.try_receive(result);
    if (got == attempt::lost && worker.now != worker_view::state::dying)
        kill(worker);
    return got == attempt::done;
}

void worker_group::want_bells(int only) {
    for (int number = 0; number < count(); ++number) {
        worker_view& worker = workers_[to_size(number)];
        if (only >= 0 && only != number)
            continue;
        if (worker.results && worker.now != worker_view::state::dead)
            worker.results.want_bell();
    }
}

void worker_group::settle_deaths(loader_clock::time_point now) {
    for (worker_view& worker : workers_) {
        if (worker.now != worker_view::state::dying)
            continue;
        if (worker.code != 0 || now >= worker.since + detail_patience)
            worker.now = worker_view::state::dead;
    }
}

std::optional<loader_clock::time_point> worker_group::next_settlement() const {
    std::optional<loader_clock::time_point> earliest;
    for (const worker_view& worker : workers_) {
        if (worker.now != worker_view::state::dying)
            continue;
        const auto limit = worker.since + detail_patience;
        if (!earliest || limit < *earliest)
            earliest = limit;
    }
    return earliest;
}

bool worker_group::bury(int number) {
    worker_view& worker = workers_[to_size(number)];
    if (worker.buried)
        return false;
    worker.buried = true;
    worker.outstanding = 0;
    worker.backlog.reset(limits_.tasks_a_worker + queue_reserve);
    return true;
}

void worker_group::forgive(loader_clock::duration span) {
    const auto now = loader_clock::now();
    for (worker_view& worker : workers_)
        worker.since = std::min(worker.since + span, now);
}

std::vector<pid_t> worker_group::processes() const {
    std::vector<pid_t> result;
    for (const worker_view& worker : workers_) {
        if (worker.now == worker_view::state::running)
            result.push_back(worker.pid);
    }
    return result;
}

std::string worker_group::describe_end(int number) const {
    const worker_view& worker = view(number);
    std::string text =
        "worker " + std::to_string(number) + " (pid " + std::to_string(worker.pid) + ") ";
    if (!worker.end_text.empty())
        return text + "could not start: " + worker.end_text;
    switch (worker.code) {
        case CLD_EXITED:
            return text + "exited with status " + std::to_string(worker.status);
        case CLD_KILLED:
        case CLD_DUMPED: {
            const char* name = ::strsignal(worker.status);
            return text + "was killed by signal " + std::to_string(worker.status) + " (" +
                   (name != nullptr ? name : "unknown") + ")" +
                   (worker.code == CLD_DUMPED ? ", core dumped" : "");
        }
        default:
            return text + "ended; how is not known";
    }
}

}  // namespace stoker::detail
