// Results come back: checked against main's own books (`loans_`), entered in the ledger, delivered
// in order. Epochs end, are abandoned and begin again here.

#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>

#include <stoker/core/error.hpp>
#include "collate/layout_check.hpp"
#include "loader/machine.hpp"
#include "worker/batch_maker.hpp"

namespace stoker::detail {

void engine::machine::collect_results() {
    result_message result{};
    for (int worker = 0; worker < options_.num_workers; ++worker) {
        while (group_->try_receive(worker, result))
            accept(worker, result);
    }
    group_->flush_backlogs();
    if (!orphans_.empty() && !fault_)
        hand_out_orphans();
}

void engine::machine::accept(int worker, const result_message& result) {
    const bool known = result.slot < loans_.size() && loans_[result.slot].lent &&
                       loans_[result.slot].worker == worker &&
                       loans_[result.slot].sequence == result.sequence;
    if (!known) {
        kill(worker, errc::protocol, "it sent a result that nobody asked for");
        return;
    }
    loan& held = loans_[result.slot];
    group_->finish_task(worker);
    if (held.probing) {
        finish_probe(held, result.slot);
        if (held.live)
            return;
    }
    held.lent = false;
    if (held.live) {
        settle(ledger_->at(result.sequence), result);
    } else {
        pool_->put_back(result.slot);
    }
}

void engine::machine::settle(ledger_entry& entry, const result_message& result) {
    if (stream_ && !settle_stream(entry, result))
        return;
    if (options_.on_bad == on_bad::replace && replace_failed(entry, result))
        return;
    const auto status = static_cast<result_status>(result.status);
    const bool gaps = status == result_status::ready && result.skipped > 0;
    const bool sound = !gaps || leave_out_skipped(entry.slot, result);
    if (gaps && sound && result.samples == 0)
        return drop_empty(entry, result.sequence);
    if (sound && status == result_status::ready &&
        read_records(pool_->record(entry.slot), result.data_bytes)) {
        empty_in_a_row_ = 0;
        entry.now = ledger_entry::state::ready;
        pool_->note_batch(pool_->record(entry.slot).bytes);
        ++parked_;
        return;
    }
    error_details details{};
    if (status == result_status::failed) {
        details = read_failure(pool_->slots(), result);
    } else {
        details.code = errc::protocol;
        details.text = "a worker's result does not fit its batch";
        details.worker = has_workers() ? entry.worker : -1;
    }
    entry.failure = std::make_exception_ptr(error(std::move(details)));
    entry.now = ledger_entry::state::failed;
    pool_->put_back(entry.slot);
}

/// Fixed layouts are computed, others are copied first and then checked: workers can scribble.
bool engine::machine::read_records(slot_record& record, std::uint64_t data_bytes) const {
    const slab& slots = pool_->slots();
    if (fixed_layout_) {
        record.bytes = columns_.lay_out(record.indices.size(), record.records.data());
        return record.bytes == data_bytes;
    }
    const column_record* written = slots.records(record.slot);
    std::copy_n(written, record.records.size(), record.records.begin());
    record.bytes = data_bytes;
    return data_bytes <= slots.geometry().data_limit &&
           fits(columns_, record.indices.size(), record.data, data_bytes, record.records.data());
}

outcome engine::machine::poll(lease& batch) {
    try {
        const outcome result = look(batch);
        if (result != outcome::pending)
            clock_.stop();
        return result;
    } catch (...) {  // in the batch's place, so the next one has a clock of its own
        clock_.stop();
        throw;
    }
}

outcome engine::machine::look(lease& batch) {
    if (closed_)
        throw error(errc::busy, "the loader was destroyed while a batch was awaited");
    if (complaint_)
        std::rethrow_exception(std::exchange(complaint_, nullptr));
    if (finished())
        return outcome::end;
    demand_epoch();
    do {
        for (int look = 0; look < 2; ++look) {
            if (look == 1)
                collect_results();
            pump();
            if (beyond_repair_)
                break;
            if (const auto sequence = ledger_->deliverable(options_.in_order)) {
                return deliver(*sequence, batch);
            }
        }
    } while (waits_for_another());
    if (!fault_)
        return outcome::pending;
    const std::exception_ptr failure = fault_;
    if (!beyond_repair_)
        abandon(delivering_epoch_ + 1);
    std::rethrow_exception(failure);
}

bool engine::machine::ready() {
    if (closed_ || complaint_ || finished() || !has_workers())
        return true;
    if (ledger_->deliverable(options_.in_order))
        return true;
    if (pending)
        return false;  // its results are not ours to collect
    demand_epoch();
    pump();
    collect_results();
    return fault_ || ledger_->deliverable(options_.in_order).has_value();
}

outcome engine::machine::deliver(std::uint64_t sequence, lease& batch) {
    ledger_entry& entry = ledger_->at(sequence);
    if (entry.now == ledger_entry::state::end_of_epoch) {
        ledger_->remove(sequence);
        end_epoch();
        return outcome::end;
    }
    const std::exception_ptr failure = entry.failure;
    const std::uint32_t slot = entry.slot;
    delivering_epoch_ = entry.epoch;
    if (stream_)
        count_delivery(entry);
    ledger_->remove(sequence);
    --outstanding_;
    ++delivered_;
    if (!failure) {
        --parked_;
        largest_batch_bytes_ = std::max(largest_batch_bytes_, pool_->record(slot).bytes);
        batch = pool_->hand_out(pool_, slot);
    }
    if (has_workers()) {
        pump();
        if (parked_ < window_ / 2)
            collect_results();  // what is ready lies in the queues until it is needed
        if (parked_ < window_ / 2)
            group_->ring_napping();
    }
    if (failure)
        std::rethrow_exception(failure);
    return outcome::batch;
}

void engine::machine::end_epoch() {
    ++delivering_epoch_;
    delivered_ = 0;
    if (!has_workers())
        return;
    if (!options_.persistent_workers) {
        group_->stop_all(std::chrono::milliseconds(100), std::chrono::milliseconds(1000));
        for (std::uint32_t slot = 0; slot < loans_.size(); ++slot) {
            // A worker that does not end keeps its slots until it is buried.
            const loan& held = loans_[slot];
            if (held.lent && held.worker >= 0 && group_->is_gone(held.worker))
                reclaim(slot);
        }
        workers_missing_ = true;
    }
    if (options_.epochs == 0 || stream_ || finished())
        return;
    // Another epoch was announced. What fails of it is tried again, and told, when a batch of it is
    // asked for: now it would take the place of this one's end.
    try {
        demand_epoch();
        pump();
    } catch (...) {
    }
}

void engine::machine::reclaim(std::uint32_t slot) {
    if (!loans_[slot].lent)
        return;
    loans_[slot].lent = false;
    pool_->put_back(slot);
}

void engine::machine::abandon(std::uint64_t next_epoch) {
    clock_.stop();
    group_->words().generation.store(++generation_, std::memory_order_seq_cst);
    group_->ring_all();  // workers that wait for their coroutines do not look by themselves
    for (std::uint64_t sequence = ledger_->head(); sequence != ledger_->tail(); ++sequence) {
        const ledger_entry& entry = ledger_->at(sequence);
        if (entry.now == ledger_entry::state::ready)
            pool_->put_back(entry.slot);
        if (entry.now == ledger_entry::state::waiting)
            loans_[entry.slot].live = false;
    }
    ledger_->clear();
    group_->withdraw_backlog([this](const task_message& task) { reclaim(task.slot); });
    for (const std::uint32_t slot : orphans_)
        reclaim(slot);
    orphans_.clear();
    outstanding_ = parked_ = 0;
    source_active_ = have_lookahead_ = false;
    fault_ = nullptr;
    complaint_ = nullptr;
    delivered_ = counted_ = 0;
    delivering_epoch_ = next_epoch_to_issue_ = demanded_epoch_ = next_epoch;
}

void engine::machine::restart() {
    if (finished())
        return;
    if (delivered_ > 0 || fault_) {
        begin_again(delivering_epoch_ + 1);
        return;
    }
    demand_epoch();
    if (has_workers())
        pump();
}

void engine::machine::restart(std::uint64_t epoch) {
    if (pending)
        throw error(errc::busy, "restart() while a next() is pending: await that first");
    if (beyond_repair_)
        std::rethrow_exception(fault_);
    if (options_.epochs > 0 && epoch >= static_cast<std::uint64_t>(options_.epochs)) {
        throw error(errc::invalid_option, "restart(" + std::to_string(epoch) +
                                              "): epochs = " + std::to_string(options_.epochs) +
                                              " announced only epochs 0 to " +
                                              std::to_string(options_.epochs - 1));
    }
    begin_again(epoch);
}

/// Past the last announced epoch it is all over.
void engine::machine::begin_again(std::uint64_t epoch) {
    if (pending)
        throw error(errc::busy, "restart() while a next() is pending: await that first");
    if (beyond_repair_)
        std::rethrow_exception(fault_);
    abandon(epoch);
    if (finished())
        return;
    demand_epoch();
    if (has_workers())
        pump();
}

void engine::machine::close() noexcept {
    if (closed_ || !group_)
        return;
    closed_ = true;
    if (::getpid() != owner_) {  // a fork of the host: workers and wait set are its parent's
        (void)group_.release();
        return;
    }
    group_->words().generation.store(++generation_, std::memory_order_seq_cst);
    group_->end();
    pool_->bell().ring();
}

}  // namespace stoker::detail
