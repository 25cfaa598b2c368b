// The end of the fork server.
//
// Its workers die with it. Where the dataset came from a `stoker::fork_server`, that object's
// process forks another one, which builds the dataset again from the same recipe; then all that the
// workers had on hand goes to new ones, as after any death. It costs one replacement of the budget.
// Without such an object there is nothing to fork from: this process may have threads by now, so
// the epoch ends.
//
// A fork server that is stopped does no harm until it is needed, and then would hold everything up:
// so a long wait looks at its state now and then. It is told to go on, once; one that is stopped
// again is as good as dead.

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include <stoker/core/error.hpp>
#include "core/system.hpp"
#include "loader/machine.hpp"

namespace stoker::detail {

namespace {

/// Whether job control, or somebody's SIGSTOP, holds the process: state T of proc(5).
bool is_stopped(pid_t process) noexcept {
    try {
        const descriptor file = system::open("/proc/" + std::to_string(process) + "/stat", O_RDONLY,
                                             "the fork server's state");
        std::array<char, 512> text{};
        const auto bytes = system::read(file.get(), std::as_writable_bytes(std::span(text)),
                                        "the fork server's state");
        const std::string_view line(text.data(), bytes.value_or(0));
        const auto end_of_name = line.rfind(')');
        return end_of_name != std::string_view::npos && line.substr(end_of_name).starts_with(") T");
    } catch (...) {  // no /proc, or no descriptor left: then deadlines have to do
        return false;
    }
}

bool same(const std::optional<stream_shape>& left, const std::optional<stream_shape>& right) {
    if (!left || !right)
        return !left && !right;
    return left->shards == right->shards && left->samples == right->samples;
}

}  // namespace

worker_environment engine::machine::environment() const {
    worker_environment environment{};
    environment.geometry = pool_->slots().geometry();
    environment.slab_memory = pool_->slots().memory_descriptor();
    environment.control_memory = group_->control_memory();
    environment.result_bell = pool_->bell().number();
    environment.num_workers = options_.num_workers;
    environment.worker_threads = options_.worker_threads;
    environment.seed = options_.seed;
    environment.in_flight = options_.in_flight;
    environment.skip_bad = options_.on_bad == on_bad::skip;
    environment.sample_timeout = options_.sample_timeout.count();
    environment.name = options_.name;
    return environment;
}

void engine::machine::check_server(loader_clock::time_point now) {
    if (!has_workers() || beyond_repair_ || !clock_.running() || now < next_server_look_)
        return;
    next_server_look_ = now + server_look_interval;
    if (wake_server(now))
        return;
    const pid_t server = group_->link().pid();
    if (!is_stopped(server)) {
        server_woken_ = false;
        return;
    }
    group_->kill_server();
    lose_server(error(errc::fork_server_died, "the process that forks the workers (pid " +
                                                  std::to_string(server) +
                                                  ") was stopped, woken, and stopped again"));
}

/// True when it was found stopped, for the first time: all that were stopped then go on.
bool engine::machine::wake_server(loader_clock::time_point now) {
    if (server_woken_ || !is_stopped(group_->link().pid()))
        return false;
    server_woken_ = true;
    next_server_look_ = now + server_look_interval;
    group_->wake_stopped();
    return true;
}

void engine::machine::lose_server(const error& death) {
    if (beyond_repair_)
        return;
    server_woken_ = false;
    error_details details = death.details();
    std::optional<server_link> successor;
    try {
        group_->lose_workers();
        collect_results();  // what they had published
        successor = make_successor(details);
        if (successor) {
            group_->adopt(std::move(*successor));
            group_->link().set_up(environment());
            return bury_orphaned_workers();
        }
    } catch (const error& failure) {
        details.text += "; another one could not be made: " + failure.text();
        details.remedy = failure.remedy();
    }
    fault_ = std::make_exception_ptr(error(std::move(details)));
    beyond_repair_ = true;
}

/// Nothing, with the reason in `death`, where there may be none. Throws what the recipe throws.
std::optional<server_link> engine::machine::make_successor(error_details& death) {
    if (!recipe_) {
        death.remedy =
            "look in dmesg for the system's out-of-memory killer, and for whoever sent it a "
            "signal; then construct the loader anew. With `stoker::fork_server forks;` first in "
            "main and a dataset from `forks.dataset(…)` a loader gets another one by itself";
        return std::nullopt;
    }
    if (options_.restart_workers == restart::never) {
        death.text += "; restart_workers is never";
        return std::nullopt;
    }
    if (!restarts_.spend(loader_clock::now(), std::make_exception_ptr(error(death)))) {
        death.text += "; max_restarts is " + std::to_string(options_.max_restarts) +
                      ", and so many replacements were made within " +
                      std::to_string(options_.restart_window.count()) + " ms";
        return std::nullopt;
    }
    std::uint64_t size = 0;
    std::optional<stream_shape> shape;
    server_link link = server_link::fork_from(*recipe_, options_.name, size, shape);
    if (size != size_ || !same(shape, shape_)) {
        throw error(errc::invalid_dataset, "the recipe made a dataset of " + std::to_string(size) +
                                               " samples this time, and of " +
                                               std::to_string(size_) + " before");
    }
    return link;
}

/// They did nothing wrong, and neither did a sample.
void engine::machine::bury_orphaned_workers() {
    workers_missing_ = true;
    for (int worker = 0; worker < group_->count(); ++worker) {
        const worker_view& view = group_->view(worker);
        if (view.now != worker_view::state::dead || view.buried)
            continue;
        blame_[static_cast<std::size_t>(worker)] = {errc::fork_server_died, "its fork server died"};
        bury(worker);
    }
    demand_epoch();
}

}  // namespace stoker::detail
