// A worker is an actor with one mailbox: it takes a task, makes the batch, sends the result, and
// sleeps on its bell when there is nothing to do. While tasks keep coming it makes no system call
// and allocates nothing: the queues are polled through counters in shared memory, and only an empty
// mailbox leads to the event loop.
//
// Where the dataset has coroutines it takes all its tasks at once: their samples are under way side
// by side on its event loop.
//
// It ends in one of four ways: by a stop task; when main's pidfd says that main is gone (watched
// while it sleeps, and by the gates); by the fork server's SIGKILL; or by the kernel's, when the
// fork server dies. Each of them leaves without destructors: the dataset belongs to its owner.

#include "worker/worker_process.hpp"

#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstring>
#include <exception>
#include <optional>
#include <utility>

#include <stoker/core/error.hpp>
#include <stoker/runtime/channel.hpp>
#include <stoker/runtime/rethrow.hpp>
#include "collate/dropped.hpp"
#include "collate/fetch_limits.hpp"
#include "core/system.hpp"
#include "ipc/control.hpp"
#include "ipc/doorbell.hpp"
#include "ipc/gated_queue.hpp"
#include "ipc/messages.hpp"
#include "worker/batch_maker.hpp"
#include "worker/batches_under_way.hpp"
#include "worker/process.hpp"
#include "worker/thread_cap.hpp"

namespace asio = boost::asio;

namespace stoker::detail {
namespace {

/// Looks into an empty mailbox before sleeping, giving up the core between two.
constexpr int looks_before_sleep = 4;
/// Then naps of a millisecond, for about a second: while batches are being consumed main need not
/// spend a system call (about 10 µs on a virtual machine) to wake a worker for each of them.
constexpr int nap_milliseconds = 1;
constexpr int naps_before_sleep = 1000;

/// Leaves breadcrumbs for main's error texts and hears when an epoch was given up.
class breadcrumbs final : public fetch_monitor {
  public:
    breadcrumbs(const control_words& all, worker_words& own) : all_(all), own_(own) {}

    void begin_task(const task_message& task) noexcept {
        generation_ = task.generation;
        own_.sequence.store(task.sequence, std::memory_order_relaxed);
        enter(worker_phase::fetching);
    }
    void enter(worker_phase phase) noexcept {
        own_.phase.store(static_cast<std::uint32_t>(phase), std::memory_order_relaxed);
    }
    void begin_sample(index sample) noexcept override {
        own_.sample.store(sample, std::memory_order_relaxed);
        enter(worker_phase::fetching);  // again, where a batch is made once more
    }
    void begin_collate() noexcept override { enter(worker_phase::collating); }
    bool abandoned() const noexcept override { return stale(generation_); }
    bool stale(std::uint64_t generation) const noexcept {
        return all_.generation.load(std::memory_order_relaxed) != generation;
    }

  private:
    const control_words& all_;
    worker_words& own_;
    std::uint64_t generation_ = 0;
};

class worker_process final : public batch_watcher {
  public:
    explicit worker_process(worker_start& start)
        : source_(*start.source),
          start_(start),
          control_(control_block::open(std::move(start.control_memory), start.num_workers)),
          slots_(slab::open(std::move(start.slab_memory), start.geometry)),
          result_bell_(std::move(start.result_bell)),
          task_bell_(std::move(start.task_bell)),
          tasks_(start.names.tasks, control_.worker(start.worker), result_bell_),
          results_(start.names.results, control_.worker(start.worker), result_bell_),
          crumbs_(control_.words(), control_.worker(start.worker)),
          next_home_slot_(static_cast<std::uint32_t>(start.worker)),
          bell_(loop_, task_bell_.number()),
          main_(loop_, start.main_pidfd.get()),
          limits_(loop_.get_executor(), start.in_flight, start.sample_timeout),
          under_way_(loop_.get_executor(), source_, slots_, settings_, limits_, *this) {
        tasks_.watch_main(start.main_pidfd.get());
        results_.watch_main(start.main_pidfd.get());
        settings_.seed = start.seed;
        settings_.worker = start.worker;
        settings_.num_workers = start.num_workers;
        limits_.go_on = settings_.skip_bad = start.skip_bad;
    }

    void run() {
        main_.async_wait(asio::posix::stream_descriptor::wait_read,
                         [](const boost::system::error_code&) { leave(0); });
        if (source_.waits()) {
            asio::co_spawn(loop_, serve_coroutines(), rethrow);
        } else {
            open_dataset();
            asio::co_spawn(loop_, serve(), rethrow);
        }
        loop_.run();
    }

  private:
    bool stale(const task_message& task) const noexcept override {
        return crumbs_.stale(task.generation);
    }
    void show(const task_message& oldest, index sample) noexcept override {
        crumbs_.begin_task(oldest);
        crumbs_.begin_sample(sample);
    }
    void show_collate(const task_message& task) noexcept override {
        crumbs_.begin_task(task);
        crumbs_.begin_collate();
    }
    void finish(const result_message& result) override { send(result); }

    /// The mailbox's owner where the dataset has coroutines: batches are under way side by side, so
    /// this never does anything that would keep the loop from running them.
    asio::awaitable<void> serve_coroutines() {
        co_await open_coroutines();
        task_message task;
        for (;;) {
            under_way_.cancel_stale();
            while (receive_now(task))
                begin(task);
            if (under_way_.empty()) {
                crumbs_.enter(worker_phase::idle);
                if (warm_next_slot())
                    continue;
            }
            tasks_.want_bell();
            if (receive_now(task)) {
                begin(task);
                continue;
            }
            co_await ring();
        }
    }

    void begin(const task_message& task) {
        if (task.kind == static_cast<std::uint32_t>(task_kind::stop))
            leave(0);
        if (start_failure_ || crumbs_.stale(task.generation)) {
            work(task);
        } else {
            under_way_.begin(task);
        }
    }

    asio::awaitable<void> open_coroutines() {
        // Beside this coroutine, which answers for the failure when open() is dropped in the
        // middle: then the sender goes with the handler.
        channel<std::exception_ptr> end(co_await asio::this_coro::executor, 1);
        asio::co_spawn(loop_, source_.async_open(start_.worker, start_.num_workers, start_.seed),
                       [tell = std::move(end.tx)](std::exception_ptr failure) mutable {
                           (void)tell.try_send(std::move(failure));
                       });
        const auto told = co_await end.rx.receive();
        std::exception_ptr failure = told ? *told : nullptr;
        if (!told) {
            try {
                throw_dropped();
            } catch (...) {
                failure = std::current_exception();
            }
        }
        if (failure)
            remember_start_failure(failure);
        crumbs_.enter(worker_phase::idle);
    }

    /// Sleeps until main rings.
    asio::awaitable<void> ring() {
        const auto outcome = co_await bell_.async_wait(asio::posix::stream_descriptor::wait_read,
                                                       asio::as_tuple(asio::use_awaitable));
        if (std::get<0>(outcome))
            leave(1);
        task_bell_.clear();
    }

    /// The mailbox's owner.
    asio::awaitable<void> serve() {
        task_message task;
        for (;;) {
            if (receive(task)) {
                work(task);
                continue;
            }
            if (warm_next_slot())
                continue;
            if (naps_ < naps_before_sleep) {
                nap();
                continue;
            }
            tasks_.want_bell();
            if (receive_now(task)) {
                work(task);
                continue;
            }
            co_await ring();
        }
    }

    bool receive_now(task_message& task) {
        const attempt outcome = tasks_.try_receive(task);
        if (outcome == attempt::lost)
            leave(1);  // main died inside the queue, or this process has damaged it
        if (outcome == attempt::done)
            naps_ = 0;
        return outcome == attempt::done;
    }

    /// A short sleep that a task, or main's end, may cut short. The caller looks again after it, so
    /// a ring that comes between its last look and the sleep is still there to end the nap.
    void nap() {
        ++naps_;
        tasks_.want_bell_napping();
        if (tasks_.likely_ready())
            return tasks_.forget_bell();
        pollfd entries[] = {{task_bell_.number(), POLLIN, 0}, {start_.main_pidfd.get(), POLLIN, 0}};
        if (::poll(entries, 2, nap_milliseconds) > 0) {
            if (entries[1].revents != 0)
                leave(0);
            task_bell_.clear();
        }
        tasks_.forget_bell();
    }

    bool receive(task_message& task) {
        for (int look = 0; look < looks_before_sleep; ++look) {
            if (receive_now(task))
                return true;
            ::sched_yield();
        }
        return false;
    }

    void work(const task_message& task) {
        if (task.kind == static_cast<std::uint32_t>(task_kind::stop))
            leave(0);
        crumbs_.begin_task(task);
        result_message result;
        result.sequence = task.sequence;
        result.slot = task.slot;
        result.status = static_cast<std::uint32_t>(result_status::dropped);
        if (!crumbs_.abandoned()) {
            result = start_failure_ ? fail_batch(slots_, task, *start_failure_)
                                    : make_batch(source_, slots_, task, settings_, crumbs_);
        }
        crumbs_.enter(worker_phase::reporting);
        send(result);
        crumbs_.enter(worker_phase::idle);
    }

    void send(const result_message& result) {
        for (;;) {
            const attempt outcome = results_.try_send(result);
            if (outcome == attempt::done)
                return;
            if (outcome == attempt::lost)
                leave(1);
            // Full: more results than tasks, which main does not let happen. It has to make room.
            ::sched_yield();
        }
    }

    /// An idle worker populates the slots that are at home with it, one a turn, until all are warm:
    /// its first batches then find pages that are already in its own tables.
    bool warm_next_slot() {
        if (settings_.num_workers <= 0 || next_home_slot_ >= start_.geometry.slot_count)
            return false;
        const std::uint32_t slot = next_home_slot_;
        next_home_slot_ += static_cast<std::uint32_t>(settings_.num_workers);
        try {
            slots_.populate(slot, start_.geometry.data_offset + start_.geometry.known_bytes);
        } catch (...) {  // the batch that needs it will say so
            next_home_slot_ = static_cast<std::uint32_t>(start_.geometry.slot_count);
        }
        return true;
    }

    void open_dataset() {
        try {
            source_.open(start_.worker, start_.num_workers, start_.seed);
        } catch (...) {
            remember_start_failure(std::current_exception());
        }
        crumbs_.enter(worker_phase::idle);
    }

    void remember_start_failure(const std::exception_ptr& failure) {
        start_failure_ = describe(failure, errc::worker_start_failed);
        start_failure_->code = errc::worker_start_failed;
        start_failure_->worker = start_.worker;
        start_failure_->pid = ::getpid();
    }

    fetcher& source_;
    worker_start& start_;
    control_block control_;
    slab slots_;
    doorbell result_bell_;
    doorbell task_bell_;
    worker_receiver tasks_;
    worker_sender results_;
    breadcrumbs crumbs_;
    batch_maker_settings settings_;
    std::optional<error_details> start_failure_;
    int naps_ = 0;
    std::uint32_t next_home_slot_;
    asio::io_context loop_{1};
    asio::posix::stream_descriptor bell_;
    asio::posix::stream_descriptor main_;
    fetch_limits limits_;
    batches_under_way under_way_;
};

/// The process is nobody's copy any more after this.
void settle(worker_start& start) {
    // Set first: should the fork server have died before, its end is seen by the parent's number.
    system::process_control(PR_SET_PDEATHSIG, SIGKILL, "a worker's end with its fork server");
    if (::getppid() != start.server)
        leave(1);
    leave_on_exit();
    const std::array kept{start.slab_memory.get(), start.control_memory.get(),
                          start.result_bell.get(), start.task_bell.get(), start.main_pidfd.get()};
    close_inherited(kept);
    reopen_inherited_files(kept);
    name_process(start.process_name);
    offer_to_oom_killer();
    cap_threads(start.worker_threads);
    ::pthread_sigmask(SIG_SETMASK, &start.signals, nullptr);
}

void say(std::span<char> last_words, const char* text) {
    if (last_words.empty())
        return;
    const std::size_t length = std::min(std::strlen(text), last_words.size() - 1);
    std::memcpy(last_words.data(), text, length);
    last_words[length] = '\0';
}

}  // namespace

void run_worker(worker_start& start) noexcept {
    try {
        settle(start);
        auto* process = new worker_process(start);  // never destroyed, as the dataset is not
        unlink_queue(start.names.tasks);
        unlink_queue(start.names.results);
        process->run();
    } catch (const std::exception& failure) {
        say(start.last_words, failure.what());
    } catch (...) {
        say(start.last_words, "an exception that is no std::exception");
    }
    leave(worker_start_status);
}

}  // namespace stoker::detail
