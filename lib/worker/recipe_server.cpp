// The process behind a `stoker::fork_server`: forked while main had one thread, it stays as it was
// then, and forks a fork server of its own for each loader that main makes later. That one builds
// the dataset from a recipe, so that a recipe which crashes or hangs takes nobody with it.
//
// A recipe travels in a memory file, since a list of a million paths fits into no message. It holds
// the address of a function, which is valid because both processes run the same image; functions of
// libraries that were loaded after the fork are refused by name before anything is sent.
//
// This process keeps a copy of each fork server's end of its lifeline for one reason: to say there
// how that process ended. It leaves without a word to its children, which have lifelines of their
// own.

#include "worker/recipe_server.hpp"

#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <optional>
#include <utility>

#include <stoker/worker/recipe_arguments.hpp>
#include "core/system.hpp"
#include "worker/error_report.hpp"
#include "worker/process.hpp"
#include "worker/server.hpp"
#include "worker/server_messages.hpp"

namespace stoker::detail {
namespace {

constexpr std::uint64_t report_limit = std::uint64_t{16} << 20;

/// Everything that a recipe needs in its new process.
struct package {
    std::uint64_t build = 0;
    std::vector<std::uint8_t> arguments{};
    std::vector<std::string> environment{};
    std::vector<std::uint8_t> processors{};
};

std::vector<std::byte> read_all(int file, std::uint64_t limit) {
    struct stat status {};
    if (::fstat(file, &status) != 0)
        system::fail("fstat", "a recipe", errno);
    std::vector<std::byte> bytes(
        std::min(limit, static_cast<std::uint64_t>(std::max<off_t>(status.st_size, 0))));
    std::size_t done = 0;
    while (done < bytes.size()) {
        const auto got =
            ::pread(file, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            system::fail("pread", "a recipe", errno);
        done += static_cast<std::size_t>(got);
    }
    return bytes;
}

descriptor packed(const fetcher_recipe& recipe) {
    const auto* processors = reinterpret_cast<const std::uint8_t*>(&recipe.origin->processors);
    const auto* arguments = reinterpret_cast<const std::uint8_t*>(recipe.arguments.data());
    std::vector<std::byte> bytes;
    argument_writer out(bytes);
    out.write(reinterpret_cast<std::uint64_t>(recipe.build));
    out.write(std::vector<std::uint8_t>(arguments, arguments + recipe.arguments.size()));
    out.write(recipe.origin->environment);
    out.write(std::vector<std::uint8_t>(processors, processors + sizeof(cpu_set_t)));
    descriptor file = system::memory_file("stoker-recipe", "a recipe");
    system::write_all(file.get(), bytes, "a recipe");
    return file;
}

package unpacked(int file) {
    const std::vector<std::byte> bytes = read_all(file, ~std::uint64_t{0});
    argument_reader in(bytes);
    package result;
    result.build = in.read<std::uint64_t>();
    result.arguments = in.read<std::vector<std::uint8_t>>();
    result.environment = in.read<std::vector<std::string>>();
    result.processors = in.read<std::vector<std::uint8_t>>();
    return result;
}

/// The surroundings of the place where the recipe was given.
void move_to(const package& recipe, int directory) {
    if (::fchdir(directory) != 0)
        system::fail("fchdir", "the directory of a recipe", errno);
    ::clearenv();
    for (const std::string& entry : recipe.environment) {
        const auto separator = entry.find('=');
        if (separator != std::string::npos)
            ::setenv(entry.substr(0, separator).c_str(), entry.c_str() + separator + 1, 1);
    }
    cpu_set_t processors;
    if (recipe.processors.size() == sizeof processors) {
        std::memcpy(&processors, recipe.processors.data(), sizeof processors);
        ::sched_setaffinity(0, sizeof processors, &processors);  // a hint: they may be gone
    }
}

/// A fork server of one loader's own, from its fork to its end.
class recipe_process {
  public:
    recipe_process(server_start start, descriptor recipe, descriptor report, descriptor directory)
        : start_(std::move(start)),
          recipe_(std::move(recipe)),
          report_(std::move(report)),
          directory_(std::move(directory)) {}

    void run() noexcept {
        try {
            settle();
            if (!say_hello(start_.socket.get()))
                return;
            std::unique_ptr<fetcher> source = build();
            if (source == nullptr)
                return;
            run_server(start_, *source);
            // Here the dataset ends, once; a destructor that hangs is not waited for.
            ::signal(SIGALRM, SIG_DFL);
            ::alarm(5);
        } catch (...) {  // the end of the lifeline tells main
        }
    }

  private:
    void settle() {
        const std::array kept{start_.socket.get(), start_.main_pidfd.get(), recipe_.get(),
                              report_.get(), directory_.get()};
        close_inherited(kept);
        name_process(server_process_name(start_.name));
        ::pthread_sigmask(SIG_SETMASK, &start_.signals, nullptr);
    }

    std::unique_ptr<fetcher> build() {
        server_report answer;
        std::unique_ptr<fetcher> source;
        try {
            const package recipe = unpacked(recipe_.get());
            move_to(recipe, directory_.get());
            recipe_.reset();
            directory_.reset();
            const auto builder = reinterpret_cast<fetcher_recipe::builder>(recipe.build);
            source = builder(std::as_bytes(std::span(recipe.arguments)));
            answer.value = source->size();
            if (const auto shape = source->stream()) {
                answer.is_stream = shape->samples ? 2 : 1;
                answer.shards = shape->shards;
            }
            require_single_thread();  // workers are forked from here
            answer.kind = report_kind::built;
        } catch (...) {
            leave_report(describe(std::current_exception(), errc::invalid_dataset));
            answer.kind = report_kind::build_failed;
            source.reset();
        }
        report_.reset();
        if (system::send_message(start_.socket.get(), bytes_of(answer), {}) != send_outcome::sent)
            source.reset();
        return source;
    }

    void leave_report(const error_details& details) {
        std::vector<std::byte> bytes(std::min(report_limit, report_bytes(details)));
        bytes.resize(write_report(bytes, details));
        system::write_all(report_.get(), bytes, "the report of a recipe");
    }

    server_start start_;
    descriptor recipe_;
    descriptor report_;
    descriptor directory_;
};

struct recipe_server_start {
    descriptor socket{};
    descriptor main_pidfd{};
    sigset_t signals{};
};

class recipe_server {
  public:
    explicit recipe_server(recipe_server_start& start)
        : start_(start), children_(watch_children(start.signals)) {}

    void run() {
        for (;;) {
            std::array watched{pollfd{start_.socket.get(), POLLIN, 0},
                               pollfd{start_.main_pidfd.get(), POLLIN, 0},
                               pollfd{children_.get(), POLLIN, 0}};
            system::poll(watched, -1, "the fork server");
            if (watched[1].revents != 0)
                return;
            if (watched[2].revents != 0)
                look_at_children();
            if (watched[0].revents != 0 && !take_request())
                return;
        }
    }

  private:
    bool take_request() {
        server_request request;
        std::vector<descriptor> received;
        const auto bytes =
            system::receive_message(start_.socket.get(), writable_bytes_of(request), received);
        if (!bytes)
            return false;
        if (*bytes == sizeof request && request.kind == request_kind::build && received.size() == 4)
            build(request, received);
        return true;
    }

    /// A fork that fails closes the lifeline, which tells main.
    void build(const server_request& request, std::vector<descriptor>& received) {
        flush_streams();
        const pid_t child = system::try_fork();
        if (child == 0)
            become_server(request, received);
        if (child > 0)
            lifelines_[child] = std::move(received[2]);
    }

    [[noreturn]] void become_server(const server_request& request,
                                    std::vector<descriptor>& received) noexcept {
        server_start start;
        start.socket = std::move(received[2]);
        start.main_pidfd = std::move(start_.main_pidfd);
        start.name = request.name.text();
        start.signals = start_.signals;
        {
            recipe_process process(std::move(start), std::move(received[0]), std::move(received[1]),
                                   std::move(received[3]));
            process.run();
        }
        leave(0);
    }

    void look_at_children() {
        std::array<signalfd_bytes, 8> discarded;
        while (::read(children_.get(), discarded.data(), sizeof discarded) > 0) {
        }
        for (auto it = lifelines_.begin(); it != lifelines_.end();)
            it = look_at(it->first, it->second.get()) ? lifelines_.erase(it) : std::next(it);
    }

    bool look_at(pid_t pid, int lifeline) {
        siginfo_t info{};
        if (!system::wait_child(P_PID, static_cast<id_t>(pid), info, WEXITED | WNOHANG,
                                "a fork server"))
            return false;
        server_report report;
        report.kind = report_kind::server_ended;
        report.pid = pid;
        report.code = info.si_code;
        report.status = info.si_status;
        system::send_message(lifeline, bytes_of(report), {});
        return true;
    }

    using signalfd_bytes = std::array<std::byte, 128>;

    recipe_server_start& start_;
    descriptor children_;
    std::map<pid_t, descriptor> lifelines_;
};

void run_recipe_server(void* argument) {
    auto& start = *static_cast<recipe_server_start*>(argument);
    try {
        if (!say_hello(start.socket.get()))
            return;
        reset_signals();
        leave_on_exit();
        const std::array kept{start.socket.get(), start.main_pidfd.get()};
        close_inherited(kept);
        name_process("stoker:forks");
        recipe_server(start).run();
    } catch (...) {  // the end of the lifeline tells main
    }
}

struct module_search {
    std::optional<std::uintptr_t> address{};  ///< none: all modules
    std::vector<loaded_module> found{};
};

int visit_module(dl_phdr_info* info, std::size_t, void* data) {
    auto& search = *static_cast<module_search*>(data);
    bool holds = !search.address;
    for (int i = 0; !holds && i < info->dlpi_phnum; ++i) {
        const auto& segment = info->dlpi_phdr[i];
        const std::uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
        holds = segment.p_type == PT_LOAD && *search.address >= begin &&
                *search.address < begin + segment.p_memsz;
    }
    if (holds)
        search.found.push_back({info->dlpi_addr, info->dlpi_name});
    return 0;
}

std::vector<loaded_module> modules_with(std::optional<std::uintptr_t> address) {
    module_search search;
    search.address = address;
    ::dl_iterate_phdr(visit_module, &search);
    return std::move(search.found);
}

}  // namespace

recipe_connection::recipe_connection(std::chrono::milliseconds limit)
    : build_limit(limit), modules(modules_with(std::nullopt)) {
    if (limit <= std::chrono::milliseconds(0))
        throw error(errc::invalid_option, "build_limit of stoker::fork_server is " +
                                              std::to_string(limit.count()) +
                                              " ms; it must be positive");
    require_single_thread();
    auto sockets = system::message_sockets("the fork server");
    recipe_server_start start;
    start.socket = std::move(sockets.second);
    start.main_pidfd = system::pidfd_open(::getpid(), "the fork server");
    ::pthread_sigmask(SIG_SETMASK, nullptr, &start.signals);
    fork_orphan(run_recipe_server, &start);
    start.socket.reset();
    socket = std::move(sockets.first);

    server_report report;
    std::vector<descriptor> received;
    constexpr int hello_limit_ms = 10'000;
    const bool spoke = system::wait_readable(socket.get(), hello_limit_ms, "the fork server");
    const auto bytes =
        spoke ? system::receive_message(socket.get(), writable_bytes_of(report), received)
              : std::nullopt;
    if (bytes != sizeof report || report.kind != report_kind::hello || received.size() != 1)
        throw error(errc::fork_server_died, "the process of stoker::fork_server did not start");
    pid = report.pid;
    pidfd = std::move(received.front());
    system::set_non_blocking(socket.get(), true, "the fork server");
}

void recipe_connection::end() const noexcept {
    // Not closed: another thread may be about to use the number, and then gets an error.
    ::shutdown(socket.get(), SHUT_RDWR);
    try {
        system::pidfd_signal(pidfd.get(), SIGCONT, "the fork server");
    } catch (...) {  // a stopped process that is not ours to wake
    }
}

void recipe_connection::require_known(const void* function) const {
    const auto holders = modules_with(reinterpret_cast<std::uintptr_t>(function));
    const bool known = std::any_of(holders.begin(), holders.end(), [this](const auto& holder) {
        return std::find(modules.begin(), modules.end(), holder) != modules.end();
    });
    if (known)
        return;
    error_details details;
    details.code = errc::invalid_dataset;
    details.text = "the function of a recipe lies in " +
                   (holders.empty() ? "no library that is loaded" : holders.front().name) +
                   ", which was loaded after the stoker::fork_server object was made, so that its "
                   "process does not have it";
    details.remedy = "load the library, or link the program with it, before the object is made";
    throw error(std::move(details));
}

recipe_origin::recipe_origin(std::shared_ptr<const recipe_connection> server)
    : connection(std::move(server)),
      directory(system::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC, "the directory of a recipe")) {
    for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry)
        environment.emplace_back(*entry);
    CPU_ZERO(&processors);
    if (::sched_getaffinity(0, sizeof processors, &processors) != 0)
        std::memset(&processors, 0xff, sizeof processors);
}

pending_build request_build(const fetcher_recipe& recipe, const std::string& name) {
    if (recipe.build == nullptr || recipe.origin == nullptr)
        throw error(errc::invalid_dataset, "the forked dataset is empty; it was moved from");
    const recipe_connection& server = *recipe.origin->connection;
    const descriptor contents = packed(recipe);
    pending_build build;
    build.limit = server.build_limit;
    build.report = system::memory_file("stoker-report", "a recipe");
    auto sockets = system::message_sockets("a fork server");
    build.lifeline = std::move(sockets.first);
    server_request request;
    request.kind = request_kind::build;
    request.name.assign(name);
    const std::array passed{contents.get(), build.report.get(), sockets.second.get(),
                            recipe.origin->directory.get()};
    if (!server.socket ||
        system::send_message(server.socket.get(), bytes_of(request), passed) != send_outcome::sent)
        throw error(errc::fork_server_died,
                    "the process of stoker::fork_server is gone or takes no requests; was the "
                    "object destroyed?");
    return build;
}

error_details read_build_report(int file) {
    return read_report(read_all(file, report_limit));
}

}  // namespace stoker::detail
