// Deaths and deadlines: what a wait has to watch besides results.
//
// Deadlines judge late, never early: results are collected before anybody is blamed, and when the
// timer goes off far too late it was this process that was stopped (job control, a debugger), so
// all clocks start again and healthy workers live. Who only looks now and then has no timer: of the
// time between two looks a second counts.

#include <algorithm>
#include <csignal>
#include <iterator>
#include <string>

#include <stoker/core/error.hpp>
#include "core/system.hpp"
#include "loader/machine.hpp"

namespace stoker::detail {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds stop_patience{5000};    ///< a stopped worker
constexpr milliseconds death_patience{1000};   ///< one that we have killed
constexpr milliseconds start_patience{10000};  ///< the fork server's answer
constexpr milliseconds slot_patience{30000};   ///< no free slot, when there is no timeout
constexpr milliseconds slight_lateness{100};   ///< of our timer: a short stop, or much other work
constexpr int most_slightly_late = 3;          ///< times in one wait that it is believed
constexpr milliseconds glance_interval{10};
constexpr int spin_rounds = 60;  ///< about 15 µs
constexpr int pauses_a_round = 6;
constexpr unsigned most_spins_in_vain = 6;

/// Tells the processor that this is a spinning wait.
void relax() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

std::string seconds(loader_clock::duration span) {
    const auto count = std::chrono::duration_cast<milliseconds>(span).count();
    std::string fraction = std::to_string(count % 1000 / 100);
    return std::to_string(count / 1000) + "." + fraction + " s";
}

/// Not those that we have killed: their end is on its way.
bool holds_tasks_stopped(const worker_view& worker) {
    return worker.stopped && !worker.broken && worker.outstanding > 0;
}

void keep_earlier(std::optional<loader_clock::time_point>& best, loader_clock::time_point other) {
    if (!best || other < *best)
        best = other;
}

}  // namespace

/// Sleeping and being woken costs tens of microseconds, a quick batch one or two: so look a little
/// longer first. Spins in vain get rare quickly, since on a busy machine they take time from the
/// very workers that are waited for.
bool engine::machine::spin(lease& batch) {
    group_->ring_napping();
    const int worker = awaited_worker();
    if (worker < 0)
        return false;
    if (spins_to_skip_ > 0) {
        --spins_to_skip_;
        return false;
    }
    for (int round = 0; round < spin_rounds; ++round) {
        for (int pause = 0; pause < pauses_a_round; ++pause)
            relax();
        if (!group_->likely_result(worker))
            continue;
        if (poll(batch) == outcome::pending)
            continue;
        spins_in_vain_ = 0;
        return true;
    }
    spins_in_vain_ = std::min(spins_in_vain_ + 1, most_spins_in_vain);
    spins_to_skip_ = (1U << spins_in_vain_) - 1;
    return false;
}

void engine::machine::look_at_clock() {
    const auto now = loader_clock::now();
    if (!clock_.running()) {
        next_server_look_ = now + server_look_interval;
        slightly_late_ = 0;
    }
    const auto forgiven = clock_.look(now);
    if (forgiven > loader_clock::duration::zero())
        group_->forgive(forgiven);
}

/// Our own timer is so late that it was this process that was stopped.
bool engine::machine::was_stopped(loader_clock::time_point now) const {
    return deadline_ && now > *deadline_ + wait_clock::plausible_gap;
}

void engine::machine::end_wait() {
    if (armed_for_) {  // it was broken off
        const auto now = loader_clock::now();
        if (was_stopped(now)) {
            clock_.restart(now);
        } else {
            clock_.wake(now);
        }
    }
    armed_for_.reset();
    pool_->forget_bell();
}

void engine::machine::arm() {
    look_at_clock();
    armed_for_ = awaited_worker();
    group_->want_bells(*armed_for_);
    pool_->want_bell();
    deadline_ = next_deadline();
    // One that has passed was judged, and did not end the wait: look again in a while.
    if (deadline_)
        deadline_ = std::max(*deadline_, loader_clock::now() + glance_interval);
    group_->set_deadline(deadline_);
}

/// In order, nothing but the front's worker can end the wait: the others need not wake us.
int engine::machine::awaited_worker() {
    if (!options_.in_order || ledger_->empty())
        return -1;
    const ledger_entry& front = ledger_->at(ledger_->head());
    return front.now == ledger_entry::state::waiting ? front.worker : -1;
}

/// Main was about to sleep until one worker's result comes, and now it is another's: what was
/// awaited came, and was no batch but the end of a stream's lane. True: look once more, since that
/// other one did not know that it has to ring.
bool engine::machine::waits_for_another() {
    if (!armed_for_ || fault_ || awaited_worker() == *armed_for_)
        return false;
    armed_for_ = awaited_worker();
    group_->want_bells(*armed_for_);
    return true;
}

std::optional<loader_clock::time_point> engine::machine::next_deadline() {
    std::optional<loader_clock::time_point> best = group_->next_settlement();
    if (has_workers())
        keep_earlier(best, std::max(next_server_look_, loader_clock::now() + glance_interval));
    if (has_workers() && options_.timeout.count() > 0) {
        keep_earlier(best, clock_.started() + options_.timeout);
    }
    if (starved_of_slots()) {
        const auto patience = options_.timeout.count() > 0 ? options_.timeout : slot_patience;
        keep_earlier(best, clock_.started() + patience);
    }
    for (int worker = 0; worker < group_->count(); ++worker) {
        const worker_view& view = group_->view(worker);
        if (view.now == worker_view::state::starting)
            keep_earlier(best, view.since + start_patience);
        if (holds_tasks_stopped(view))
            keep_earlier(best, view.since + stop_patience);
        if (view.killed && view.now == worker_view::state::running)
            keep_earlier(best, *view.killed + death_patience);
    }
    return best;
}

void engine::machine::wake() {
    armed_for_.reset();
    bool timer_fired = false;
    try {
        timer_fired = group_->take_events();
    } catch (const error& failure) {
        if (failure.code() == errc::fork_server_died)
            lose_server(failure);
        else if (!beyond_repair_)
            fault_ = std::current_exception();
    }
    const auto now = loader_clock::now();
    collect_results();
    check_deaths(now);
    const bool slightly_late = timer_fired && deadline_ && now > *deadline_ + slight_lateness &&
                               ++slightly_late_ <= most_slightly_late;
    if (slightly_late || (timer_fired && was_stopped(now))) {
        clock_.restart(now);
        group_->forgive(now - *deadline_);
        group_->wake_stopped();
        return;
    }
    clock_.wake(now);
    check_server(now);
    check_deadlines(now);
}

void engine::machine::glance() {
    // A pending operation waits for these very events: taking them would leave it asleep.
    if (pending || closed_ || beyond_repair_)
        return;
    look_at_clock();
    const auto now = loader_clock::now();
    if (now - last_glance_ < glance_interval)
        return;
    last_glance_ = now;
    wake();
}

void engine::machine::check_deaths(loader_clock::time_point now) {
    group_->settle_deaths(now);
    for (int worker = 0; worker < group_->count(); ++worker) {
        if (group_->view(worker).now == worker_view::state::dead)
            bury(worker);
    }
    free_quarantined();
}

/// The breadcrumb: the sample that the worker is, or was, making.
std::optional<index> engine::machine::sample_in_hand(int worker) const {
    const worker_words& words = group_->words_of(worker);
    if (words.phase.load(std::memory_order_relaxed) !=
        static_cast<std::uint32_t>(worker_phase::fetching))
        return std::nullopt;
    return words.sample.load(std::memory_order_relaxed);
}

std::string engine::machine::describe_worker(int worker) const {
    const worker_words& words = group_->words_of(worker);
    static constexpr const char* phases[] = {"starting", "idle", "fetching", "collating",
                                             "reporting"};
    const auto phase = words.phase.load(std::memory_order_relaxed);
    std::string text = "worker " + std::to_string(worker) + " (pid " +
                       std::to_string(group_->view(worker).pid) + ") is " +
                       (phase < std::size(phases) ? phases[phase] : "in an unknown phase");
    if (const auto sample = sample_in_hand(worker))
        text += " sample " + std::to_string(*sample);
    return text;
}

void engine::machine::kill(int worker, errc code, std::string reason) {
    blame_[static_cast<std::size_t>(worker)] = {code, std::move(reason)};
    group_->kill(worker);
}

void engine::machine::check_deadlines(loader_clock::time_point now) {
    if (fault_ || !clock_.running())
        return;
    for (int worker = 0; worker < group_->count(); ++worker) {
        const worker_view& view = group_->view(worker);
        if (view.now == worker_view::state::starting && now >= view.since + start_patience) {
            group_->kill_server();
            return lose_server(
                error(errc::fork_server_died, "the fork server (pid " +
                                                  std::to_string(group_->link().pid()) +
                                                  ") does not answer: it is stopped or stuck"));
        }
        if (holds_tasks_stopped(view) && now >= view.since + stop_patience) {
            kill(
                worker, errc::worker_stopped,
                describe_worker(worker) + " and was stopped " + seconds(now - view.since) + " ago");
        }
        if (view.killed && view.now == worker_view::state::running &&
            now >= *view.killed + death_patience) {
            leave_behind(worker, now);
        }
    }
    if (fault_)
        return;
    check_timeout(now);
    check_free_slot(now);
}

void engine::machine::check_timeout(loader_clock::time_point now) {
    if (options_.timeout.count() <= 0 || now < clock_.started() + options_.timeout)
        return;
    if (!has_workers() || ledger_->deliverable(options_.in_order))
        return;
    if (wake_server(now)) {  // of a whole job that was stopped main alone goes on
        clock_.restart(now);
        group_->forgive(options_.timeout);
        return;
    }
    const auto sequence = ledger_->oldest_waiting();
    if (!sequence) {
        kill_holders_of_stale_tasks();
        return;
    }
    ledger_entry& entry = ledger_->at(*sequence);
    const int worker = entry.worker;
    if (worker < 0 || group_->view(worker).broken)
        return;  // its worker died, or is about to: it is on its way to another
    const worker_view& view = group_->view(worker);
    if (view.now == worker_view::state::starting || now < view.since + options_.timeout)
        return;  // it has had no such time itself
    error_details details{};
    details.code = errc::timed_out;
    details.worker = worker;
    details.pid = group_->view(worker).pid;
    details.sample = sample_in_hand(worker);
    details.text = "the batch did not come within " + seconds(options_.timeout) + " (waited " +
                   seconds(now - clock_.started()) + "): " + describe_worker(worker) +
                   (group_->view(worker).stopped ? ", and is stopped" : "") +
                   "; it is killed and replaced";
    if (stream_)
        details.text += leave_shard(entry);
    // The slot stays lent until the worker is gone: it may be writing.
    loans_[entry.slot].live = false;
    entry.now = ledger_entry::state::failed;
    entry.failure = std::make_exception_ptr(error(details));
    kill(worker, errc::timed_out, std::move(details.text));
}

/// Nothing of this epoch is on its way, since all slots lie at workers that are stuck in an epoch
/// long given up. Nobody misses what they do: they are replaced without a word.
void engine::machine::kill_holders_of_stale_tasks() {
    for (const loan& held : loans_) {
        if (held.lent && !held.live && held.worker >= 0 && !group_->view(held.worker).broken)
            group_->kill(held.worker);
    }
}

/// The user holds every slot and nothing is on its way: only a release can help.
bool engine::machine::starved_of_slots() {
    if (outstanding_ > 0 || !have_lookahead_)
        return false;
    for (const loan& held : loans_) {
        if (held.lent && held.keeper == 0)
            return false;
    }
    return !pool_->any_free();
}

void engine::machine::check_free_slot(loader_clock::time_point now) {
    const auto patience = options_.timeout.count() > 0 ? options_.timeout : slot_patience;
    if (now < clock_.started() + patience || !starved_of_slots())
        return;
    complaint_ = std::make_exception_ptr(error(
        errc::no_free_slot, "no free slot: " + std::to_string(pool_->held()) +
                                " batches are held, which are all there are; waited " +
                                seconds(now - clock_.started()) + " for one to be given back"));
}

}  // namespace stoker::detail
