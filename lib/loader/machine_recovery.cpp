// What becomes of a dead worker's tasks.
//
// Everything that is needed to make a batch again lies in main's own memory: the task, and the
// indices in the slot's record. So a death costs the time to make a few batches anew, and nothing
// else: what the worker had published is collected before it is buried, and the rest goes to living
// workers under the same sequence numbers, hence into the same places of the ledger. A result can
// be settled once only, so nothing is lost and nothing comes twice.
//
// Two things keep this from going on for ever. Replacements have a budget. And a task under which
// two workers died is under suspicion: the sample that the last of them was on (its breadcrumb) is
// tried out by itself, in a worker that has nothing else to do and is not charged to the budget.
// Does that one die too, the sample is named, and costs its batch.

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include <stoker/core/error.hpp>
#include "loader/machine.hpp"

namespace stoker::detail {

namespace {

/// Deaths under one task until a sample of it is suspected.
constexpr int deaths_until_suspicion = 2;

}  // namespace

/// Slots that the worker was to write, in order of delivery.
std::vector<std::uint32_t> engine::machine::lost_slots(int worker) const {
    std::vector<std::uint32_t> lost;
    for (std::uint32_t slot = 0; slot < loans_.size(); ++slot) {
        if (loans_[slot].lent && loans_[slot].worker == worker)
            lost.push_back(slot);
    }
    std::sort(lost.begin(), lost.end(), [this](std::uint32_t left, std::uint32_t right) {
        return loans_[left].sequence < loans_[right].sequence;
    });
    return lost;
}

/// A dead worker: what it had published is collected already. Its slots can be given to others,
/// since nothing writes them any more.
void engine::machine::bury(int worker) {
    if (!group_->bury(worker))
        return;  // done before
    settle_losses(worker, lost_slots(worker), describe_death(worker));
}

void engine::machine::settle_losses(int worker, std::vector<std::uint32_t> lost,
                                    const error_details& death) {
    workers_missing_ = true;
    std::erase_if(lost, [this](std::uint32_t slot) {
        if (loans_[slot].live)
            return false;
        reclaim(slot);
        return true;
    });
    if (fault_) {
        for (const std::uint32_t slot : lost)
            reclaim(slot);
    } else if (lost.size() == 1 && loans_[lost.front()].probing) {
        accuse(lost.front(), death);
    } else if (!lost.empty()) {
        if (may_replace(worker, death)) {
            recover(worker, lost, death);
        } else {
            give_up(lost, death);
        }
    }
    blame_[static_cast<std::size_t>(worker)] = {};
    if (fault_)
        return;
    demand_epoch();  // a successor at once, also for a worker that had nothing to do
    hand_out_orphans();
}

/// Killed long ago, and still there: a system call that no signal ends keeps it, and may yet write
/// to the slots that it was at work on. They stay its own; all else goes on without it.
void engine::machine::leave_behind(int worker, loader_clock::time_point now) {
    const worker_view& view = group_->view(worker);
    const pid_t pid = view.pid;
    const std::string since = std::to_string(
        std::chrono::duration_cast<std::chrono::milliseconds>(now - *view.killed).count());
    error_details death = describe_death(worker);
    const blame& reason = blame_[static_cast<std::size_t>(worker)];
    death.text = "worker " + std::to_string(worker) + " (pid " + std::to_string(pid) +
                 ") was killed " + since +
                 " ms ago and does not die: it waits in the kernel for something that no signal "
                 "interrupts";
    if (!reason.text.empty())
        death.text += "; it was killed by us: " + reason.text;
    const std::uint64_t in_hand = group_->words_of(worker).sequence.load(std::memory_order_relaxed);
    group_->leave_behind(worker);
    std::vector<std::uint32_t> lost;
    for (const std::uint32_t slot : lost_slots(worker)) {
        if (!waits_ && loans_[slot].sequence != in_hand) {
            lost.push_back(slot);  // not begun
        } else if (const auto fresh = quarantine(slot, pid)) {
            lost.push_back(*fresh);
        }
    }
    settle_losses(worker, std::move(lost), death);
    clock_.restart(now);  // what comes next is nobody's delay
}

/// What was to come in this slot is to come in another one, if there is one free.
std::optional<std::uint32_t> engine::machine::quarantine(std::uint32_t slot, pid_t keeper) {
    loan& held = loans_[slot];
    std::optional<std::uint32_t> fresh;
    if (held.live)
        fresh = pool_->acquire(held.worker);
    if (fresh) {
        loan& moved = loans_[*fresh];
        moved = held;
        moved.task.slot = *fresh;
        slot_record& record = pool_->record(*fresh);
        record.indices = pool_->record(slot).indices;
        record.epoch = pool_->record(slot).epoch;
        record.number = pool_->record(slot).number;
        ledger_->at(held.sequence).slot = *fresh;
        if (stream_) {
            tickets_[*fresh] = tickets_[slot];
            requests_[*fresh] = requests_[slot];
        }
    } else if (held.live) {
        ledger_entry& entry = ledger_->at(held.sequence);
        entry.failure = std::make_exception_ptr(
            error(errc::no_free_slot,
                  "worker " + std::to_string(held.worker) + " (pid " + std::to_string(keeper) +
                      ") was killed and does not die, so its batch needs another slot, and " +
                      std::to_string(pool_->held()) + " batches are held"));
        entry.now = ledger_entry::state::failed;
    }
    held.live = held.probing = false;
    held.worker = -1;
    held.keeper = keeper;
    return fresh;
}

void engine::machine::free_quarantined() {
    for (std::uint32_t slot = 0; slot < loans_.size(); ++slot) {
        loan& held = loans_[slot];
        if (held.keeper == 0 || !group_->has_died(held.keeper))
            continue;
        held.keeper = 0;
        reclaim(slot);
    }
}

error_details engine::machine::describe_death(int worker) {
    const blame& reason = blame_[static_cast<std::size_t>(worker)];
    error_details death{};
    death.code = reason.code;
    death.text = group_->describe_end(worker);
    if (!reason.text.empty())
        death.text += ", by us: " + reason.text;
    const worker_view& ended = group_->view(worker);
    if (reason.text.empty() && ended.code == CLD_KILLED && ended.status == SIGKILL) {
        const oom_kills now = read_oom_kills();
        const std::string told = describe_oom_kill(oom_before_, now);
        oom_before_ = now;
        if (!told.empty()) {
            death.text += "; " + told;
            death.remedy =
                "give it more memory (docker run --memory), or need less: fewer workers, a smaller "
                "batch_size or prefetch_factor, a dataset that holds less at a time";
        }
    }
    death.worker = worker;
    death.pid = group_->view(worker).pid;
    death.sample = sample_in_hand(worker);
    return death;
}

bool engine::machine::may_replace(int worker, const error_details& death) {
    const errc reason = blame_[static_cast<std::size_t>(worker)].code;
    if (reason == errc::timed_out)
        return true;  // the user has been told already, and decides
    if (reason == errc::fork_server_died)
        return true;  // that one was paid for
    const worker_view& ended = group_->view(worker);
    const bool well = ended.code == CLD_EXITED && ended.status == 0;
    if (options_.restart_workers == restart::never ||
        (options_.restart_workers == restart::on_failure && well))
        return false;
    // The history is a list: each of its lines says how a worker ended, and no more.
    const auto failure = std::make_exception_ptr(std::runtime_error(death.text));
    return restarts_.spend(loader_clock::now(), failure).has_value();
}

void engine::machine::recover(int worker, const std::vector<std::uint32_t>& lost,
                              const error_details& death) {
    const bool own_fault = blame_[static_cast<std::size_t>(worker)].text.empty();
    const std::optional<index> sample = sample_in_hand(worker);
    const std::uint64_t in_hand = group_->words_of(worker).sequence.load(std::memory_order_relaxed);
    for (const std::uint32_t slot : lost) {
        loan& held = loans_[slot];
        ledger_entry& entry = ledger_->at(held.sequence);
        held.worker = entry.worker = -1;
        if (own_fault && sample && held.sequence == in_hand) {
            ++entry.deaths;
            entry.suspect = *sample;
        }
        if (stream_ && entry.deaths >= deaths_until_suspicion) {
            accuse_shard(slot, death);  // its samples cannot be had one by one
        } else {
            orphans_.push_back(slot);
        }
    }
    sort_orphans();
}

/// In order of delivery.
void engine::machine::sort_orphans() {
    std::sort(orphans_.begin(), orphans_.end(), [this](std::uint32_t left, std::uint32_t right) {
        return loans_[left].sequence < loans_[right].sequence;
    });
}

/// The epoch ends with an error when all that is ready has been delivered.
void engine::machine::give_up(const std::vector<std::uint32_t>& lost, error_details death) {
    for (const std::uint32_t slot : lost) {
        ledger_->at(loans_[slot].sequence).now = ledger_entry::state::lost;
        reclaim(slot);
    }
    const auto history = restarts_.take_history();
    if (history.size() > static_cast<std::size_t>(options_.max_restarts)) {
        death.text += "; workers died " + std::to_string(history.size()) + " times within " +
                      std::to_string(options_.restart_window.count()) +
                      " ms, and max_restarts is " + std::to_string(options_.max_restarts);
        for (std::size_t i = 0; i + 1 < history.size(); ++i)
            death.text += (i == 0 ? ": before it, " : "; ") + history[i].text;
    }
    death.text += "; the epoch ends here, the next one starts with fresh workers";
    fault_ = std::make_exception_ptr(error(std::move(death)));
}

/// Tasks whose worker died go to others; one under suspicion to a worker that has nothing else to
/// do, and only the suspected sample of it.
void engine::machine::hand_out_orphans() {
    for (auto next = orphans_.begin(); next != orphans_.end();) {
        const std::uint32_t slot = *next;
        loan& held = loans_[slot];
        held.probing = !stream_ && ledger_->at(held.sequence).deaths >= deaths_until_suspicion;
        int worker = -1;
        if (stream_) {
            worker = worker_for_orphan(slot).value_or(-1);
        } else {
            worker = held.probing ? group_->choose_idle() : group_->choose();
        }
        if (worker < 0) {
            ++next;
            continue;
        }
        next = orphans_.erase(next);
        send_again(slot, worker);
    }
}

void engine::machine::send_again(std::uint32_t slot, int worker) {
    loan& held = loans_[slot];
    ledger_entry& entry = ledger_->at(held.sequence);
    const std::vector<index>& indices = pool_->record(slot).indices;
    task_message task = held.task;
    held.worker = entry.worker = worker;
    if (stream_) {
        write_request_again(slot);
    } else if (held.probing) {
        const auto place = std::find(indices.begin(), indices.end(), entry.suspect);
        // A breadcrumb can be scribbled over, too.
        const auto number = place == indices.end() ? 0 : place - indices.begin();
        const auto which = static_cast<std::size_t>(number);
        pool_->slots().indices(slot)[0] = indices[which];
        task.first_position += held.numbers.empty() ? which : held.numbers[which];
        task.index_count = 1;
        task.gaps = 0;
        group_->set_aside(worker, true);
    } else {
        std::copy(indices.begin(), indices.end(), pool_->slots().indices(slot));
        if (!held.numbers.empty())
            std::copy(held.numbers.begin(), held.numbers.end(),
                      numbers_of(pool_->slots(), slot).begin());
    }
    group_->assign(worker, task);
}

/// The suspected sample did no harm by itself: the whole batch is tried again.
void engine::machine::finish_probe(loan& held, std::uint32_t slot) {
    group_->set_aside(held.worker, false);
    held.probing = false;
    if (!held.live)
        return;
    ledger_entry& entry = ledger_->at(held.sequence);
    entry.deaths = deaths_until_suspicion - 1;
    held.worker = entry.worker = -1;
    orphans_.push_back(slot);
}

/// It did kill a worker that had nothing else to do.
void engine::machine::accuse(std::uint32_t slot, const error_details& death) {
    loan& held = loans_[slot];
    ledger_entry& entry = ledger_->at(held.sequence);
    error_details details = death;
    details.code = errc::worker_died;
    details.sample = entry.suspect;
    details.text = "sample " + std::to_string(entry.suspect) + " kills its worker each time, " +
                   std::to_string(entry.deaths + 1) +
                   " so far, the last one with nothing else to "
                   "do: " +
                   death.text;
    details.remedy = "look at that sample; its batch is lost, and the epoch goes on";
    held.probing = false;
    if (skip_suspect(slot, details) || replace_suspect(slot, details))
        return;
    entry.failure = std::make_exception_ptr(error(std::move(details)));
    entry.now = ledger_entry::state::failed;
    reclaim(slot);
}

}  // namespace stoker::detail
