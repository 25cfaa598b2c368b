// The fork server: a process with one thread, untouched by CUDA, small in what it does. It forks
// workers when main asks, tells main how they end, and sees to it that nothing is left when main is
// gone, however main went: the lifeline says so by its end, and a pidfd of main where somebody else
// still holds main's side of it.
//
// It is nobody's child (process.cpp), and each worker dies with it by the parent-death signal, so
// that no end of any process leaves another one behind.

#include "worker/server.hpp"

#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <exception>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <stoker/core/error.hpp>
#include "core/system.hpp"
#include "ipc/queue_names.hpp"
#include "worker/process.hpp"
#include "worker/server_messages.hpp"
#include "worker/worker_process.hpp"

namespace stoker::detail {
namespace {

constexpr std::size_t last_words_bytes = 512;
/// Less than main has patience for (worker_group.cpp).
constexpr std::chrono::milliseconds reap_limit{400};

class server {
  public:
    server(server_start& start, fetcher& source)
        : start_(start), source_(source), children_(watch_children(start.signals)) {}
    ~server() { end_workers(); }
    server(const server&) = delete;
    server& operator=(const server&) = delete;

    void run() {
        while (main_lives_) {
            std::array watched{pollfd{start_.socket.get(), POLLIN, 0},
                               pollfd{start_.main_pidfd.get(), POLLIN, 0},
                               pollfd{children_.get(), POLLIN, 0}};
            system::poll(watched, -1, "the fork server");
            if (watched[1].revents != 0)
                return;
            if (watched[2].revents != 0)
                look_at_children();
            if (watched[0].revents != 0)
                take_request();
        }
    }

  private:
    struct process {
        int worker = -1;
        queue_names names{};
        char* last_words = nullptr;
    };

    /// False when there is none.
    bool take_request() {
        server_request request;
        std::vector<descriptor> received;
        std::optional<std::size_t> bytes;
        try {
            bytes =
                system::receive_message(start_.socket.get(), writable_bytes_of(request), received);
        } catch (const error& failure) {
            if (request.kind != request_kind::spawn)
                throw;
            refuse(request.worker, failure);  // its bell found no free number
            return true;
        }
        if (!bytes)
            main_lives_ = false;
        if (!bytes || *bytes == 0)
            return false;
        if (*bytes == sizeof request)
            fulfil(request, received);
        return true;
    }

    void fulfil(const server_request& request, std::vector<descriptor>& received) {
        queue_names names{request.tasks.text(), request.results.text()};
        if (request.kind == request_kind::set_up && received.size() == 3)
            set_up(request, received);
        else if (request.kind == request_kind::kill)
            kill(request.worker);
        else if (request.kind == request_kind::announce)
            announced_[request.worker].push_back(std::move(names));
        else if (request.kind == request_kind::spawn && received.size() == 1 && !ending_)
            spawn(request.worker, std::move(names), std::move(received[0]));
    }

    void kill(int worker) {
        for (const auto& [pid, entry] : processes_) {
            if (entry.worker == worker)
                ::kill(pid, SIGKILL);
        }
    }

    void set_up(const server_request& request, std::vector<descriptor>& received) {
        shared_ = request;
        slab_memory_ = std::move(received[0]);
        control_memory_ = std::move(received[1]);
        result_bell_ = std::move(received[2]);
        if (last_words_ == nullptr) {
            last_words_bytes_ =
                last_words_bytes * static_cast<std::size_t>(request.num_workers + 1);
            last_words_ = reinterpret_cast<char*>(
                system::map(nullptr, last_words_bytes_, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0, "the workers' last words"));
        }
    }

    std::span<char> last_words_of(int worker) {
        const auto begin = last_words_bytes * static_cast<std::size_t>(worker);
        if (worker < 0 || begin + last_words_bytes > last_words_bytes_)
            return {};
        return {last_words_ + begin, last_words_bytes};
    }

    void spawn(int worker, queue_names names, descriptor bell) {
        server_report report;
        report.worker = worker;
        const std::span<char> last_words = last_words_of(worker);
        if (!last_words.empty())
            last_words[0] = '\0';
        pid_t child = 0;
        try {
            const pid_t own = ::getpid();
            flush_streams();
            child = system::fork("a worker");
            if (child == 0)
                become_worker(worker, std::move(names), std::move(bell), own);
            // Before it can be reaped: this number means this worker and no other process.
            const descriptor pidfd = system::pidfd_open(child, "a worker");
            processes_[child] = process{worker, std::move(names), last_words.data()};
            announced_.erase(worker);
            report.kind = report_kind::spawned;
            report.pid = child;
            tell(report, pidfd.get());
        } catch (const error& failure) {
            if (child > 0) {
                ::kill(child, SIGKILL);
                ::waitpid(child, nullptr, 0);
            }
            refuse(worker, failure);
        }
    }

    void refuse(int worker, const error& failure) {
        server_report report;
        report.worker = worker;
        report.kind = report_kind::not_spawned;
        report.text.assign(failure.text());
        tell(report);
    }

    /// In the child: what is moved from is its own copy.
    [[noreturn]] void become_worker(int worker, queue_names names, descriptor bell,
                                    pid_t parent) noexcept {
        try {
            worker_start start;
            start.source = &source_;
            start.worker = worker;
            start.num_workers = shared_.num_workers;
            start.worker_threads = shared_.worker_threads;
            start.seed = shared_.seed;
            start.in_flight = shared_.in_flight;
            start.skip_bad = shared_.skip_bad != 0;
            start.sample_timeout = std::chrono::milliseconds(shared_.sample_timeout);
            start.geometry = shared_.geometry;
            start.names = std::move(names);
            start.slab_memory = std::move(slab_memory_);
            start.control_memory = std::move(control_memory_);
            start.result_bell = std::move(result_bell_);
            start.task_bell = std::move(bell);
            start.main_pidfd = std::move(start_.main_pidfd);
            start.server = parent;
            start.process_name =
                server_process_name(shared_.name.text()) + ":w" + std::to_string(worker);
            start.signals = start_.signals;
            start.last_words = last_words_of(worker);
            run_worker(start);
        } catch (...) {
            leave(worker_start_status);
        }
    }

    void look_at_children() {
        std::array<signalfd_siginfo, 8> discarded;
        while (::read(children_.get(), discarded.data(), sizeof discarded) > 0) {
        }
        for (auto it = processes_.begin(); it != processes_.end();)
            it = look_at(it->first, it->second) ? processes_.erase(it) : std::next(it);
    }

    /// Tells all that has become of one worker; true when it has ended.
    bool look_at(pid_t pid, const process& entry) {
        siginfo_t info{};
        while (system::wait_child(P_PID, static_cast<id_t>(pid), info,
                                  WEXITED | WSTOPPED | WCONTINUED | WNOHANG, "a worker")) {
            server_report report;
            report.worker = entry.worker;
            report.pid = pid;
            report.code = info.si_code;
            report.status = info.si_status;
            if (info.si_code == CLD_STOPPED || info.si_code == CLD_TRAPPED) {
                report.kind = report_kind::stopped;
                tell(report);
                continue;
            }
            if (info.si_code == CLD_CONTINUED) {
                report.kind = report_kind::continued;
                tell(report);
                continue;
            }
            report.kind = report_kind::exited;
            if (entry.last_words != nullptr)
                report.text.assign(entry.last_words);
            unlink_queue(entry.names.tasks);
            unlink_queue(entry.names.results);
            tell(report);
            return true;
        }
        return false;
    }

    /// Waits while main does not read, but not for longer than main lives.
    void tell(const server_report& report, int passed = -1) {
        const std::span<const int> along(&passed, passed >= 0 ? 1U : 0U);
        while (main_lives_) {
            const send_outcome outcome =
                system::send_message(start_.socket.get(), bytes_of(report), along);
            if (outcome == send_outcome::sent)
                return;
            std::array watched{pollfd{start_.socket.get(), POLLOUT, 0},
                               pollfd{start_.main_pidfd.get(), POLLIN, 0}};
            if (outcome == send_outcome::would_block)
                system::poll(watched, -1, "the fork server");
            if (outcome == send_outcome::closed || watched[1].revents != 0)
                main_lives_ = false;
        }
    }

    void end_workers() noexcept {
        ending_ = true;
        for (const auto& [pid, entry] : processes_)
            ::kill(pid, SIGKILL);
        try {
            while (take_request()) {  // main's last words may be names
            }
        } catch (...) {  // what was announced before is known
        }
        for (const auto& [worker, all] : announced_) {
            for (const queue_names& names : all)
                unlink_both(names);
        }
        for (const auto& [pid, entry] : processes_)
            unlink_both(entry.names);
        // One that cannot die now (uninterruptible I/O) is left to its parent-death signal.
        const auto end = std::chrono::steady_clock::now() + reap_limit;
        for (const auto& [pid, entry] : processes_) {
            while (::waitpid(pid, nullptr, WNOHANG) == 0 &&
                   std::chrono::steady_clock::now() < end) {
                pollfd changed{children_.get(), POLLIN, 0};
                ::poll(&changed, 1, 10);
                signalfd_siginfo discarded;
                [[maybe_unused]] const auto bytes =
                    ::read(children_.get(), &discarded, sizeof discarded);
            }
        }
    }

    static void unlink_both(const queue_names& names) noexcept {
        unlink_queue(names.tasks);
        unlink_queue(names.results);
    }

    server_start& start_;
    fetcher& source_;
    descriptor children_;
    descriptor slab_memory_, control_memory_, result_bell_;
    server_request shared_{};
    char* last_words_ = nullptr;
    std::size_t last_words_bytes_ = 0;
    std::map<pid_t, process> processes_;
    std::map<int, std::vector<queue_names>> announced_;
    bool main_lives_ = true;
    bool ending_ = false;
};

}  // namespace

descriptor watch_children(const sigset_t& mask) {
    sigset_t children;
    ::sigemptyset(&children);
    ::sigaddset(&children, SIGCHLD);
    descriptor number(::signalfd(-1, &children, SFD_NONBLOCK | SFD_CLOEXEC));
    if (!number)
        system::fail("signalfd", "the fork server", errno);
    sigset_t own = mask;
    ::sigaddset(&own, SIGCHLD);
    ::pthread_sigmask(SIG_SETMASK, &own, nullptr);
    return number;
}

bool say_hello(int socket) {
    const descriptor own = system::pidfd_open(::getpid(), "the fork server");
    server_report report;
    report.kind = report_kind::hello;
    report.pid = ::getpid();
    const std::array passed{own.get()};
    send_outcome outcome = system::send_message(socket, bytes_of(report), passed);
    while (outcome == send_outcome::would_block) {
        pollfd room{socket, POLLOUT, 0};
        system::poll({&room, 1}, -1, "the fork server");
        outcome = system::send_message(socket, bytes_of(report), passed);
    }
    return outcome == send_outcome::sent;
}

void run_server(server_start& start, fetcher& source) noexcept {
    try {
        system::set_non_blocking(start.socket.get(), true, "the fork server");
        server(start, source).run();
    } catch (const std::exception& failure) {
        say_last_words(start.socket.get(), failure);
    } catch (...) {  // the end of the lifeline tells main
    }
}

void say_last_words(int socket, const std::exception& failure) noexcept {
    try {
        server_report report;
        report.kind = report_kind::giving_up;
        report.pid = ::getpid();
        const auto* known = dynamic_cast<const error*>(&failure);
        report.text.assign(known != nullptr ? known->text() : failure.what());
        system::send_message(socket, bytes_of(report), {});
    } catch (...) {  // the end of the lifeline tells main
    }
}

std::string server_process_name(const std::string& loader_name) {
    return loader_name.empty() ? "stoker" : "stoker:" + loader_name;
}

}  // namespace stoker::detail
