#pragma once
// A main process in small: a slab, control words, bells and a fork server with its workers, driven
// by hand. Also fetchers whose samples say where they were made.

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <stoker/collate/fetcher.hpp>
#include "core/system.hpp"
#include "ipc/control.hpp"
#include "ipc/doorbell.hpp"
#include "ipc/gated_queue.hpp"
#include "ipc/slab.hpp"
#include "support/leaks.hpp"
#include "worker/batch_maker.hpp"
#include "worker/server_link.hpp"

namespace stoker::detail::worker_test {

inline constexpr std::chrono::milliseconds patience = std::chrono::seconds(20);

inline schema one_number() {
    schema columns;
    columns.columns.push_back({"value", dtype::i64, 8, {}});
    return columns;
}

/// A dataset of numbers made by a function; what `open` does can be given too.
class number_fetcher : public fetcher {
  public:
    using maker = std::function<std::int64_t(index)>;

    explicit number_fetcher(maker make, std::function<void()> open = {}, std::uint64_t size = 1000)
        : make_(std::move(make)), open_(std::move(open)), size_(size) {}

    std::uint64_t size() const override { return size_; }
    const schema& columns() const override { return columns_; }
    void open(int, int, std::uint64_t) override {
        if (open_)
            open_();
    }
    std::uint64_t fetch(const fetch_task& task, batch_memory& memory, column_record* records,
                        fetch_monitor& monitor) override {
        const std::uint64_t bytes = columns_.lay_out(task.indices.size(), records);
        auto* values = reinterpret_cast<std::int64_t*>(memory.data(bytes));
        for (std::size_t i = 0; i < task.indices.size() && !monitor.abandoned(); ++i) {
            monitor.begin_sample(task.indices[i]);
            values[i] = make_(task.indices[i]);
        }
        return bytes;
    }

  private:
    maker make_;
    std::function<void()> open_;
    std::uint64_t size_;
    schema columns_ = one_number();
};

/// One outcome of a task.
struct outcome {
    result_status status{};
    std::vector<std::int64_t> values{};
    error_details failure{};
};

class small_main {
  public:
    small_main(server_link link, int num_workers)
        : link_(std::move(link)),
          control_(control_block::create(num_workers)),
          slots_(slab::create(plan_slots(8, one_number(), 16, 0))),
          result_bell_(doorbell::create()) {
        worker_environment environment;
        environment.geometry = slots_.geometry();
        environment.slab_memory = slots_.memory_descriptor();
        environment.control_memory = control_.memory_descriptor();
        environment.result_bell = result_bell_.number();
        environment.num_workers = num_workers;
        environment.seed = 7;
        environment.name = "rig";
        link_.set_up(environment);
        control_.words().generation.store(1);
        workers_.resize(static_cast<std::size_t>(num_workers));
        for (int worker = 0; worker < num_workers; ++worker)
            start(worker);
    }

    struct worker_side {
        doorbell bell{};
        main_sender tasks{};
        main_receiver results{};
        pid_t pid = 0;
        descriptor pidfd{};
    };

    server_link& link() { return link_; }
    const control_block& control() const { return control_; }
    const slab& slots() const { return slots_; }
    worker_side& worker(int number) { return workers_[static_cast<std::size_t>(number)]; }

    /// Starts a worker and waits for its `spawned`; other events are kept for `wait_event`.
    void start(int number) {
        worker_side& side = worker(number);
        side = worker_side{};
        side.bell = doorbell::create();
        control_.reset_worker(number);
        const queue_names names = make_queue_names();
        link_.announce(number, names);
        create_queue(names.tasks, 8, sizeof(task_message));
        create_queue(names.results, 8, sizeof(result_message));
        side.tasks = main_sender(names.tasks, control_.worker(number), side.bell);
        side.results = main_receiver(names.results, control_.worker(number), side.bell);
        link_.spawn(number, names, side.bell.number());
        auto event = wait_event(server_event::kind::spawned);
        if (!event)
            throw std::runtime_error("no worker was spawned");
        side.pid = event->pid;
        side.pidfd = std::move(event->pidfd);
    }

    /// The next event of that kind; others that come before it are dropped.
    std::optional<server_event> wait_event(server_event::kind kind,
                                           std::chrono::milliseconds limit = patience) {
        const auto end = std::chrono::steady_clock::now() + limit;
        for (;;) {
            auto event = link_.try_event();
            if (event && event->what == kind)
                return event;
            if (event)
                continue;
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(
                end - std::chrono::steady_clock::now());
            if (left.count() <= 0)
                return std::nullopt;
            system::wait_readable(link_.socket(), static_cast<int>(left.count()), "an event");
        }
    }

    void send(int number, std::vector<index> indices, std::uint64_t generation = 1,
              task_kind kind = task_kind::batch) {
        task_message task;
        task.sequence = ++sequence_;
        task.generation = generation;
        task.slot = static_cast<std::uint32_t>(sequence_ % slots_.geometry().slot_count);
        task.index_count = static_cast<std::uint32_t>(indices.size());
        task.kind = static_cast<std::uint32_t>(kind);
        slots_.populate(task.slot, slots_.geometry().data_offset);
        if (!indices.empty())
            std::memcpy(slots_.indices(task.slot), indices.data(), indices.size() * sizeof(index));
        while (worker(number).tasks.try_send(task) == attempt::withdrawn)
            system::wait_readable(result_bell_.number(), 10, "the worker");
    }

    /// The next result of a worker, or nothing when it has none to give within the limit.
    std::optional<outcome> receive(int number, std::chrono::milliseconds limit = patience) {
        const auto end = std::chrono::steady_clock::now() + limit;
        result_message result;
        for (;;) {
            main_receiver& results = worker(number).results;
            if (results.try_receive(result) == attempt::done)
                return read(result);
            results.want_bell();
            if (results.try_receive(result) == attempt::done)
                return read(result);
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(
                end - std::chrono::steady_clock::now());
            if (left.count() <= 0)
                return std::nullopt;
            system::wait_readable(result_bell_.number(), static_cast<int>(left.count()),
                                  "a result");
            result_bell_.clear();
        }
    }

    std::optional<outcome> fetch(int number, std::vector<index> indices) {
        send(number, std::move(indices));
        return receive(number);
    }

  private:
    outcome read(const result_message& result) {
        outcome read;
        read.status = static_cast<result_status>(result.status);
        if (read.status == result_status::failed)
            read.failure = read_failure(slots_, result);
        if (read.status == result_status::ready) {
            const auto* values = reinterpret_cast<const std::int64_t*>(slots_.data(result.slot));
            read.values.assign(values, values + slots_.records(result.slot)->extents[0]);
        }
        return read;
    }

    server_link link_;
    control_block control_;
    slab slots_;
    doorbell result_bell_;
    std::vector<worker_side> workers_;
    std::uint64_t sequence_ = 0;
};

/// Forks a fork server from here, and workers from that.
inline small_main start(fetcher& source, int num_workers) {
    return small_main(server_link::fork_here(source, "rig", false), num_workers);
}

/// Each sample is its own index.
inline number_fetcher identity() {
    return number_fetcher([](index i) { return static_cast<std::int64_t>(i); });
}

/// Whether a process runs; one that has ended and waits for its parent's look does not.
inline bool alive(pid_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string line;
    std::getline(file, line);
    const auto end_of_name = line.rfind(')');
    return end_of_name != std::string::npos && line.compare(end_of_name + 2, 1, "Z") != 0;
}

/// Whether the process behind a pidfd ends in time.
inline bool ends(int pidfd, std::chrono::milliseconds limit = patience) {
    return system::wait_readable(pidfd, static_cast<int>(limit.count()), "the end of a process");
}

}  // namespace stoker::detail::worker_test
