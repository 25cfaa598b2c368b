// What is different where the dataset is a stream: main hands out requests in place of indices, and
// learns from the answers how large a batch is, whether there is one at all, and when lanes end.
// `stream_order` decides; here its decisions meet slots, workers and the ledger.

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include <stoker/core/error.hpp>
#include "loader/machine.hpp"
#include "sampler/shard_order.hpp"

namespace stoker::detail {

/// What batches are made of: indices in an order, or a stream.
void engine::machine::make_order(engine_parts& parts) {
    if (source_)
        shape_ = source_->stream();
    if (!shape_) {
        order_ = parts.make_order(size_);
        return;
    }
    stream_order::settings settings{};
    settings.shape = *shape_;
    settings.batch_size = static_cast<std::uint64_t>(options_.batch_size);
    settings.shuffle = options_.shuffle;
    settings.drop_last = options_.drop_last;
    stream_ = std::make_unique<stream_order>(settings);
}

std::span<std::uint64_t> engine::machine::words_of(std::uint32_t slot) const {
    return {pool_->slots().indices(slot), pool_->slots().geometry().index_words};
}

bool engine::machine::issue_from_stream() {
    if (!source_active_)
        return false;
    const stream_order::step next = stream_->next();
    if (next == stream_order::step::wait)
        return false;
    if (next == stream_order::step::end) {
        finish_order(stream_->any(), stream_->left_out());
        return true;
    }
    have_lookahead_ = true;  // until there is a slot for it
    const std::optional<int> worker = worker_for(stream_->next_lane());
    if (!worker)
        return false;
    const std::optional<std::uint32_t> slot = pool_->acquire(*worker);
    if (!slot)
        return false;
    have_lookahead_ = false;
    const std::uint64_t sequence = ledger_->tail();
    ledger_entry& entry = ledger_->push();
    entry.slot = *slot;
    entry.worker = *worker;
    entry.epoch = issuing_epoch_;
    ++outstanding_;
    const task_message task = write_stream_task(*slot, sequence);
    loans_[*slot] = loan{true, true, *worker, false, 0, sequence, task, {}, {}};
    if (has_workers()) {
        group_->assign(*worker, task);
    } else {
        load_here(sequence, task);
    }
    return true;
}

/// A lane's own, or, for what is read again, the one with fewest tasks. None while it is busy.
std::optional<int> engine::machine::worker_for(std::optional<std::uint64_t> lane) {
    if (!has_workers())
        return 0;
    if (lane) {
        const auto worker =
            static_cast<int>(*lane % static_cast<std::uint64_t>(options_.num_workers));
        return group_->can_take(worker) ? std::optional(worker) : std::nullopt;
    }
    const int worker = group_->choose();
    return worker >= 0 ? std::optional(worker) : std::nullopt;
}

task_message engine::machine::write_stream_task(std::uint32_t slot, std::uint64_t sequence) {
    tickets_.resize(loans_.size());
    requests_.resize(loans_.size());
    tickets_[slot] = stream_->issue(requests_[slot]);
    write_request(requests_[slot], words_of(slot));
    slot_record& record = pool_->record(slot);
    record.indices.clear();
    record.epoch = issuing_epoch_;
    task_message task{};
    task.sequence = sequence;
    task.generation = generation_;
    task.epoch = issuing_epoch_;
    task.first_position = tickets_[slot].first_position;
    task.slot = slot;
    return task;
}

/// Notes what the answer says of the stream. False when there is nothing more to settle.
bool engine::machine::settle_stream(ledger_entry& entry, const result_message& result) {
    const stream_ticket& ticket = tickets_[entry.slot];
    const auto status = static_cast<result_status>(result.status);
    const bool answered = read_answer(words_of(entry.slot), answer_);
    const stream_order::settlement settled =
        stream_->settle(ticket, status != result_status::ready, answered ? &answer_ : nullptr);
    if (settled.what == stream_order::verdict::skip) {
        pool_->put_back(entry.slot);
        ledger_->remove(result.sequence);
        --outstanding_;
        return false;
    }
    if (settled.what == stream_order::verdict::broken) {
        error_details details{};
        details.code = errc::protocol;
        details.text = "a worker's answer does not fit what was asked of the stream";
        details.worker = has_workers() ? entry.worker : -1;
        entry.failure = std::make_exception_ptr(error(std::move(details)));
        entry.now = ledger_entry::state::failed;
        pool_->put_back(entry.slot);
        return false;
    }
    std::vector<index>& positions = pool_->record(entry.slot).indices;
    for (std::uint64_t i = 0; i < settled.samples; ++i)
        positions.push_back(ticket.first_position + i);
    return true;
}

/// The worker for a task whose worker died: the successor, which has all its lanes to begin with.
std::optional<int> engine::machine::worker_for_orphan(std::uint32_t slot) {
    const stream_ticket& ticket = tickets_[slot];
    return worker_for(ticket.again ? std::nullopt : std::optional(ticket.lane));
}

/// The words of a task that another process is to do: they tell it where its lane begins.
void engine::machine::write_request_again(std::uint32_t slot) {
    requests_[slot].start = stream_->start_of(tickets_[slot]);
    write_request(requests_[slot], words_of(slot));
}

/// A task of a stream that will not be done, since it kills its workers or takes too long. What
/// comes behind the place where that happened nobody can tell but the reader. Gives the words for
/// what is lost with it.
std::string engine::machine::leave_shard(const ledger_entry& entry) {
    const stream_ticket& ticket = tickets_[entry.slot];
    const std::optional<std::uint64_t> ordinal = stream_->leave_shard(ticket);
    if (!ordinal)
        return {};
    const shard_order order(shape_->shards, options_.shuffle, options_.seed, entry.epoch);
    if (*ordinal >= order.count(ticket.lane))
        return {};
    return "; the rest of shard " + std::to_string(order.shard(ticket.lane, *ordinal)) +
           " of the stream is left out in this epoch";
}

/// Two workers died on the same batch of a stream.
void engine::machine::accuse_shard(std::uint32_t slot, const error_details& death) {
    ledger_entry& entry = ledger_->at(loans_[slot].sequence);
    error_details details = death;
    details.code = errc::worker_died;
    details.sample = entry.suspect;
    details.text = "the sample at position " + std::to_string(entry.suspect) +
                   " killed its worker twice: " + death.text + leave_shard(entry);
    details.remedy = "look at that shard; its batch is lost, and the epoch goes on";
    entry.failure = std::make_exception_ptr(error(std::move(details)));
    entry.now = ledger_entry::state::failed;
    reclaim(slot);
}

/// Batches of a stream are numbered as they are delivered: only then is it known which there are.
void engine::machine::count_delivery(const ledger_entry& entry) {
    if (entry.epoch != counted_epoch_) {
        counted_epoch_ = entry.epoch;
        counted_ = 0;
    }
    if (entry.now == ledger_entry::state::ready)
        pool_->record(entry.slot).number = counted_;
    ++counted_;
}

}  // namespace stoker::detail
