// Main's end of a fork server. Nothing here waits without a limit: requests are small and fit into
// the socket's buffer, and a server that takes none is reported as dead.

#include "worker/server_link.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include <stoker/core/error.hpp>
#include "core/system.hpp"
#include "worker/process.hpp"
#include "worker/recipe_server.hpp"
#include "worker/server.hpp"

namespace stoker::detail {
namespace {

constexpr std::chrono::milliseconds hello_limit{10'000};
constexpr int request_limit_ms = 30'000;

struct fork_here_start {
    server_start server{};
    fetcher* source = nullptr;
};

/// The life of a fork server that has the dataset by its copy of the caller's memory.
void run_copied_server(void* argument) {
    auto& start = *static_cast<fork_here_start*>(argument);
    try {
        if (!say_hello(start.server.socket.get()))
            return;
        reset_signals();
        leave_on_exit();
        const std::array kept{start.server.socket.get(), start.server.main_pidfd.get()};
        close_inherited(kept);
        name_process(server_process_name(start.server.name));
        run_server(start.server, *start.source);
    } catch (const std::exception& failure) {
        say_last_words(start.server.socket.get(), failure);
    }
}

std::string describe_end(int code, int status) {
    if (code == CLD_EXITED)
        return "it ended with status " + std::to_string(status);
    const char* name = ::sigabbrev_np(status);
    return "it was ended by signal " + std::to_string(status) +
           (name != nullptr ? std::string(" (SIG") + name + ")" : std::string());
}

server_event::kind event_kind(report_kind kind) {
    switch (kind) {
        case report_kind::spawned:
            return server_event::kind::spawned;
        case report_kind::not_spawned:
            return server_event::kind::not_spawned;
        case report_kind::stopped:
            return server_event::kind::stopped;
        case report_kind::continued:
            return server_event::kind::continued;
        default:
            return server_event::kind::exited;
    }
}

}  // namespace

server_link::server_link(descriptor socket) : socket_(std::move(socket)) {
    system::set_non_blocking(socket_.get(), true, "the fork server");
}

server_link server_link::fork_here(fetcher& source, const std::string& name, bool with_threads) {
    if (!with_threads)
        require_single_thread();
    auto sockets = system::message_sockets("the fork server");
    fork_here_start start;
    start.source = &source;
    start.server.socket = std::move(sockets.second);
    start.server.main_pidfd = system::pidfd_open(::getpid(), "the fork server");
    start.server.name = name;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &start.server.signals);
    fork_orphan(run_copied_server, &start);
    start.server.socket.reset();
    server_link link(std::move(sockets.first));
    link.wait_for_hello();
    return link;
}

server_link server_link::fork_from(const fetcher_recipe& recipe, const std::string& name,
                                   std::uint64_t& dataset_size,
                                   std::optional<stream_shape>& stream) {
    pending_build build = request_build(recipe, name);
    server_link link(std::move(build.lifeline));
    link.wait_for_hello();
    const auto end = std::chrono::steady_clock::now() + build.limit;
    for (;;) {
        std::vector<descriptor> none;
        const auto report = link.receive(none);
        if (report && report->kind == report_kind::built) {
            dataset_size = report->value;
            if (report->is_stream == 2) {
                stream = stream_shape{report->shards, report->value};
            } else if (report->is_stream == 1) {
                stream = stream_shape{report->shards, std::nullopt};
            }
            return link;
        }
        if (report && report->kind == report_kind::build_failed)
            throw error(read_build_report(build.report.get()));
        if (report)
            continue;
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
        if (left.count() > 0) {
            system::wait_readable(link.socket(), static_cast<int>(left.count()), "a recipe");
            continue;
        }
        system::pidfd_signal(link.pidfd(), SIGKILL, "a recipe");
        error_details details;
        details.code = errc::timed_out;
        details.text = "a recipe did not build its dataset within " +
                       std::to_string(build.limit.count()) + " ms, and its process was ended";
        details.remedy =
            "find out what the recipe waits for, or give stoker::fork_server a longer "
            "build limit";
        throw error(std::move(details));
    }
}

server_link& server_link::operator=(server_link&& other) noexcept {
    if (this != &other) {
        close();
        socket_ = std::move(other.socket_);
        pidfd_ = std::move(other.pidfd_);
        pid_ = std::exchange(other.pid_, 0);
        names_ = std::exchange(other.names_, {});
        ending_ = std::move(other.ending_);
    }
    return *this;
}

server_link::~server_link() {
    close();
}

void server_link::set_up(const worker_environment& environment) {
    server_request request;
    request.kind = request_kind::set_up;
    request.num_workers = environment.num_workers;
    request.worker_threads = environment.worker_threads;
    request.seed = environment.seed;
    request.in_flight = environment.in_flight;
    request.skip_bad = environment.skip_bad ? 1 : 0;
    request.sample_timeout = environment.sample_timeout;
    request.geometry = environment.geometry;
    request.name.assign(environment.name);
    const std::array passed{environment.slab_memory, environment.control_memory,
                            environment.result_bell};
    send(request, passed);
}

void server_link::announce(int worker, const queue_names& names) {
    server_request request;
    request.kind = request_kind::announce;
    request.worker = worker;
    request.tasks.assign(names.tasks);
    request.results.assign(names.results);
    send(request, {});
    forget_names(worker);
    names_[worker] = names;
}

void server_link::spawn(int worker, const queue_names& names, int task_bell) {
    server_request request;
    request.kind = request_kind::spawn;
    request.worker = worker;
    request.tasks.assign(names.tasks);
    request.results.assign(names.results);
    const std::array passed{task_bell};
    send(request, passed);
}

void server_link::kill(int worker) {
    server_request request;
    request.kind = request_kind::kill;
    request.worker = worker;
    send(request, {});
}

void server_link::require_alive(std::chrono::milliseconds patience) {
    if (!pidfd_ || system::wait_readable(pidfd_.get(), static_cast<int>(patience.count()),
                                         "the fork server's end"))
        fail_dead();
}

std::optional<server_event> server_link::try_event() {
    std::vector<descriptor> passed;
    const auto report = receive(passed);
    if (!report)
        return std::nullopt;
    server_event event;
    event.what = event_kind(report->kind);
    event.worker = report->worker;
    event.pid = report->pid;
    event.code = report->code;
    event.status = report->status;
    event.text = report->text.text();
    if (!passed.empty())
        event.pidfd = std::move(passed.front());
    else if (event.what == server_event::kind::spawned)
        event.text = "recvmsg failed for a worker's pidfd: no descriptor is left (EMFILE)";
    return event;
}

void server_link::close() noexcept {
    if (!socket_)
        return;
    socket_.reset();
    while (!names_.empty())
        forget_names(names_.begin()->first);
    if (!pidfd_)
        return;
    // A stopped server would not see the end of its lifeline.
    try {
        system::pidfd_signal(pidfd_.get(), SIGCONT, "the fork server");
    } catch (...) {  // not ours to signal any more
    }
}

void server_link::wait_for_hello() {
    const auto end = std::chrono::steady_clock::now() + hello_limit;
    for (;;) {
        std::vector<descriptor> passed;
        const auto report = receive(passed);
        if (report && report->kind == report_kind::hello && passed.size() == 1) {
            pidfd_ = std::move(passed.front());
            pid_ = report->pid;
            return;
        }
        if (report)
            continue;
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
        if (left.count() <= 0)
            throw error(errc::fork_server_died, "the fork server did not start within " +
                                                    std::to_string(hello_limit.count()) + " ms");
        system::wait_readable(socket_.get(), static_cast<int>(left.count()), "the fork server");
    }
}

/// The next report of the server; nullopt: none now. What its own parent says of its end is kept.
std::optional<server_report> server_link::receive(std::vector<descriptor>& passed) {
    for (;;) {
        if (!connected())
            fail_dead();
        server_report report;
        std::optional<std::size_t> bytes;
        try {
            bytes = system::receive_message(socket_.get(), writable_bytes_of(report), passed);
        } catch (const error&) {
            if (report.kind != report_kind::spawned)
                throw;
            passed.clear();  // there is a worker, and no number was left for its pidfd
            return report;
        }
        if (!bytes)
            fail_dead();
        if (*bytes == 0)
            return std::nullopt;
        if (*bytes != sizeof report)
            throw error(errc::protocol, "the fork server sent a message of unknown size");
        if (!note_end(report))
            return report;
        fail_dead();
    }
}

void server_link::send(const server_request& request, std::span<const int> passed) {
    for (bool waited = false; connected(); waited = true) {
        const send_outcome outcome = system::send_message(socket_.get(), bytes_of(request), passed);
        if (outcome == send_outcome::sent)
            return;
        if (outcome == send_outcome::closed)
            break;
        std::array watched{pollfd{socket_.get(), POLLOUT, 0}};
        if (waited || system::poll(watched, request_limit_ms, "the fork server") == 0)
            throw error(errc::fork_server_died,
                        "process " + std::to_string(pid_) + " takes no requests; is it stopped?");
    }
    fail_dead();
}

/// Usually the worker has done it long ago.
void server_link::forget_names(int worker) noexcept {
    const auto known = names_.find(worker);
    if (known == names_.end())
        return;
    unlink_queue(known->second.tasks);
    unlink_queue(known->second.results);
    names_.erase(known);
}

/// Whether this is about the server's own end.
bool server_link::note_end(const server_report& report) {
    if (report.kind == report_kind::giving_up)
        ending_ = "it gave up, since " + report.text.text();
    else if (report.kind != report_kind::server_ended)
        return false;
    else if (ending_.empty())
        ending_ = describe_end(report.code, report.status);
    return true;
}

void server_link::fail_dead() {
    try {  // its last words may lie there, unread
        std::vector<descriptor> ignored;
        server_report report;
        while (socket_ && system::receive_message(socket_.get(), writable_bytes_of(report),
                                                  ignored) == sizeof report)
            note_end(report);
    } catch (...) {  // then there are none
    }
    std::string text = pid_ != 0 ? "process " + std::to_string(pid_) + " is gone"
                                 : "it is not connected, or ended before it said hello";
    if (!ending_.empty())
        text += ": " + ending_;
    throw error(errc::fork_server_died, std::move(text));
}

}  // namespace stoker::detail
