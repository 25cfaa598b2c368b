// Flow of one batch:
//
//   order → look-ahead → (slot, worker) → task queue … result queue → ledger entry ready → deliver
//
// A new task is handed out when a batch is handed over, never because one merely arrived: so the
// number of batches issued and not delivered stays within num_workers × prefetch_factor, and memory
// is bounded by it. The ledger holds them in order of delivery; slots are lent to workers by main
// alone (`loans_`), so whatever a worker does or however it dies, ownership is never in doubt.
//
// An abandoned epoch (break, restart, failure) leaves tasks behind at workers. They are told by a
// generation number: workers drop stale tasks unread, main takes back the slots as results arrive,
// and nobody waits for them.

#include "loader/machine.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <stoker/core/error.hpp>
#include <stoker/core/index.hpp>
#include "ipc/memory_limits.hpp"
#include "ipc/queue_names.hpp"
#include "loader/check_options.hpp"
#include "loader/memory_estimate.hpp"
#include "worker/batch_maker.hpp"

namespace stoker::detail {

namespace {

/// Batches the user may hold while the workers have all they may have: one in use, one being taken.
constexpr std::uint64_t user_slots = 2;
/// For batch samplers that cannot say how large their batches are: virtual, touched as needed.
constexpr std::uint64_t fallback_index_capacity = 1 << 16;
/// Out of order, most batches by which a slow one may be overtaken.
constexpr std::uint64_t least_reordering = 1024;

/// num_workers = 0: nobody watches.
class no_monitor final : public fetch_monitor {
  public:
    void begin_sample(index) noexcept override {}
    bool abandoned() const noexcept override { return false; }
};

}  // namespace

engine::machine::machine(engine_parts parts)
    : options_(parts.options),
      columns_(std::move(parts.columns)),
      fixed_layout_(columns_.fixed()),
      restarts_({restart::always, options_.max_restarts, options_.restart_window, {}}),
      replacement_(std::move(parts.replacement)),
      replacement_attempts_(parts.replacement_attempts) {
    choose_replacement(options_, static_cast<bool>(replacement_), replacement_attempts_);
    check_options(options_, parts.has_sampler, parts.has_batch_sampler);
    check_coroutines(options_, parts.waits);
    waits_ = parts.waits;
    source_ = std::move(parts.source);
    if (source_)
        size_ = source_->size();
    server_link link = make_link(parts);
    make_order(parts);
    if (stream_ && options_.on_bad != on_bad::fail) {
        throw error(errc::invalid_option,
                    "on_bad = skip and replace are for datasets with indices: only a stream's "
                    "reader knows how "
                    "to go on behind a bad sample");
    }
    refuse_empty_epochs();
    make_slots();
    const auto prefetch = static_cast<std::uint32_t>(options_.prefetch_factor);
    window_ = has_workers() ? static_cast<std::uint64_t>(options_.num_workers) * prefetch : 1;
    // In order the ledger holds the window and borders; out of order also what was delivered from
    // behind a slow batch, which stays until that one leaves.
    ledger_room_ = options_.in_order ? window_ * 2 + 2 : std::max(least_reordering, window_ * 4);
    ledger_ = std::make_unique<ledger>(static_cast<std::size_t>(ledger_room_ + 2));
    // A worker may owe more than prefetch_factor when others are busy with a slow sample; all of
    // them together never owe more than the window, and stale tasks come on top.
    group_ = std::make_unique<worker_group>(
        std::move(link),
        worker_group::limits{options_.num_workers, has_workers() ? prefetch * 2 : 0},
        pool_->bell());
    blame_.resize(static_cast<std::size_t>(options_.num_workers));
    if (!has_workers())
        return;
    oom_before_ = read_oom_kills();
    sweep_leftover_names();  // of loaders that were killed together with their fork server
    group_->link().set_up(environment());
    group_->words().generation.store(generation_, std::memory_order_relaxed);
    group_->start_missing();
    demand_epoch();
    pump();
}

engine::machine::~machine() {
    close();
}

/// Where that can be known before an epoch is walked; otherwise its end tells.
void engine::machine::refuse_empty_epochs() {
    if (length() != std::uint64_t{0})
        return;
    std::uint64_t left_out = 0;
    if (stream_) {
        left_out = shape_->samples.value_or(0);
    } else {
        order_->begin(0);
        order_->next(lookahead_);
        left_out = lookahead_.size();
    }
    if (const std::exception_ptr complaint = complaint_of_empty_epoch(options_, left_out))
        std::rethrow_exception(complaint);
}

server_link engine::machine::make_link(engine_parts& parts) {
    if (parts.recipe != nullptr) {
        if (!has_workers()) {
            throw error(errc::invalid_option,
                        "num_workers is 0, but the dataset is built by a fork server: give it at "
                        "least one worker, or build the dataset here");
        }
        recipe_ = *parts.recipe;
        return server_link::fork_from(*recipe_, options_.name, size_, shape_);
    }
    if (!has_workers())
        return {};
    return server_link::fork_here(*source_, options_.name, options_.fork_with_threads);
}

void engine::machine::make_slots() {
    const std::uint64_t workers = static_cast<std::uint64_t>(options_.num_workers);
    const std::uint64_t slots =
        workers * static_cast<std::uint64_t>(options_.prefetch_factor) + user_slots;
    const std::optional<std::uint64_t> largest =
        stream_ ? stream_->batch_size() : order_->largest_batch();
    const std::uint64_t capacity = largest.value_or(fallback_index_capacity);
    std::uint64_t words = stream_ ? stream_words(capacity, shape_->shards) : capacity;
    if (options_.on_bad == on_bad::skip)
        words = std::max(words, words_for_gaps(capacity));
    const slot_geometry geometry = plan_slots(
        slots, columns_, capacity, options_.memory_limit_bytes, largest.has_value(), words);
    if (geometry.known_bytes > 0)
        check_memory_headroom(slots * (geometry.data_offset + geometry.known_bytes),
                              "the loader's slots");
    pool_ = std::make_shared<slot_pool>(slab::create(geometry), doorbell::create(),
                                        options_.num_workers);
    loans_.resize(geometry.slot_count);
    lookahead_.reserve(largest.value_or(0));
}

slot_memory engine::machine::slots() const {
    const slab& memory = pool_->slots();
    const slot_geometry& geometry = memory.geometry();
    slot_memory found;
    found.owner = pool_;
    found.base = memory.slot(0);
    found.slot_count = geometry.slot_count;
    found.slot_bytes = geometry.slot_bytes;
    found.data_offset = geometry.data_offset;
    found.known_bytes = geometry.known_bytes;
    found.known_prefix = memory.known_prefix();
    found.most_samples = geometry.index_capacity;
    return found;
}

void engine::machine::populate_slots() const {
    const slab& memory = pool_->slots();
    for (std::uint32_t slot = 0; slot < memory.geometry().slot_count; ++slot)
        memory.populate(slot, memory.known_prefix());
}

bool engine::machine::finished() const {
    return options_.epochs > 0 && delivering_epoch_ >= static_cast<std::uint64_t>(options_.epochs);
}

std::uint64_t engine::machine::last_epoch_allowed() const {
    if (options_.epochs == endless)  // no borders at which workers could be changed
        return std::numeric_limits<std::uint64_t>::max();
    if (stream_)
        return demanded_epoch_;  // readers of the next epoch would stand beside those of this one
    if (options_.persistent_workers || !has_workers()) {
        if (options_.epochs > 0)
            return static_cast<std::uint64_t>(options_.epochs) - 1;
    }
    return demanded_epoch_;
}

/// Somebody asks for a batch: the epoch it belongs to may begin, with all its workers.
void engine::machine::demand_epoch() {
    demanded_epoch_ = std::max(demanded_epoch_, delivering_epoch_);
    if (!workers_missing_)
        return;
    try {
        group_->start_missing();
        workers_missing_ = false;
    } catch (const error& failure) {
        if (failure.code() != errc::fork_server_died)
            throw;
        lose_server(failure);
    }
}

void engine::machine::pump() {
    if (fault_)
        return;  // the epoch is over but for what is ready
    hand_out_orphans();
    if (!orphans_.empty())
        return;  // they come first
    for (;;) {
        if (!source_active_) {
            if (next_epoch_to_issue_ > last_epoch_allowed() || !room_in_ledger())
                return;
            begin_epoch();
        }
        if (!issue_one())
            return;
    }
}

/// Room for a batch, or a failure, with the border of its epoch behind it.
bool engine::machine::room_in_ledger() const {
    return ledger_->tail() - ledger_->head() + 2 <= ledger_room_;
}

void engine::machine::begin_epoch() {
    issuing_epoch_ = next_epoch_to_issue_++;
    next_number_ = next_position_ = 0;
    source_active_ = true;
    if (stream_)
        return stream_->begin();
    try {
        order_->begin(issuing_epoch_);
    } catch (...) {
        fail_order(std::current_exception());
        finish_order(true, 0);
    }
}

/// The user's sampler threw, or has nothing: the error comes in the batch's place. Whether more
/// follows is the source's to say when it is asked again.
void engine::machine::fail_order(std::exception_ptr failure) {
    ledger_entry& entry = ledger_->push();
    entry.now = ledger_entry::state::failed;
    entry.epoch = issuing_epoch_;
    entry.number = next_number_++;
    entry.failure = std::move(failure);
    ++outstanding_;
}

/// The order has no more. An epoch in which nothing came, though there were samples or there is to
/// be no end, is an error: training on nothing, in silence, helps nobody.
void engine::machine::finish_order(bool any, std::uint64_t left_out) {
    if (!any) {
        if (std::exception_ptr complaint = complaint_of_empty_epoch(options_, left_out)) {
            fail_order(std::move(complaint));
            any = true;
        }
    }
    if (options_.epochs == endless && any) {
        source_active_ = have_lookahead_ = false;  // no border: one stream of batches
    } else {
        end_order();
    }
}

void engine::machine::end_order() {
    source_active_ = have_lookahead_ = false;
    ledger_entry& border = ledger_->push();
    border.now = ledger_entry::state::end_of_epoch;
    border.epoch = issuing_epoch_;
}

/// The next batch's indices are read before a slot is needed: so the end of an epoch shows even
/// when the user holds every slot.
bool engine::machine::look_ahead() {
    if (!source_active_)
        return false;
    if (have_lookahead_)
        return true;
    try {
        have_lookahead_ = order_->next(lookahead_);
    } catch (...) {
        fail_order(std::current_exception());
        return false;
    }
    if (!have_lookahead_)
        finish_order(next_number_ > 0, lookahead_.size());
    return have_lookahead_;
}

/// One error for an index that the dataset does not have, in the batch's place.
bool engine::machine::refuse_bad_indices() {
    std::string complaint;
    std::optional<index> culprit;
    for (const index number : lookahead_) {
        if (number < size_)
            continue;
        culprit = number;
        complaint = "index " + describe_index(number) + " is out of range: the dataset has " +
                    std::to_string(size_) + " samples";
        break;
    }
    const std::uint64_t capacity = pool_->slots().geometry().index_capacity;
    if (!culprit && lookahead_.size() <= capacity)
        return false;
    error_details details{};
    details.code = culprit ? errc::index_out_of_range : errc::batch_too_large;
    details.sample = culprit;
    details.text = culprit ? complaint
                           : "a batch of " + std::to_string(lookahead_.size()) +
                                 " indices: the batch sampler's largest was expected to be " +
                                 std::to_string(capacity);
    ledger_entry& entry = ledger_->push();
    entry.now = ledger_entry::state::failed;
    entry.epoch = issuing_epoch_;
    entry.number = next_number_++;
    entry.failure = std::make_exception_ptr(error(std::move(details)));
    next_position_ += lookahead_.size();
    have_lookahead_ = false;
    ++outstanding_;
    return true;
}

bool engine::machine::issue_one() {
    if (outstanding_ >= window_ || !room_in_ledger())
        return false;
    if (!has_workers() && !ledger_->empty())
        return false;  // one at a time, on demand
    if (stream_)
        return issue_from_stream();
    if (!look_ahead())
        return true;
    if (refuse_bad_indices())
        return true;
    const int worker = has_workers() ? group_->choose() : 0;
    if (worker < 0)
        return false;
    const std::optional<std::uint32_t> slot = pool_->acquire(worker);
    if (!slot)
        return false;
    const std::uint64_t sequence = ledger_->tail();
    ledger_entry& entry = ledger_->push();
    entry.slot = *slot;
    entry.worker = worker;
    entry.epoch = issuing_epoch_;
    entry.number = next_number_++;
    ++outstanding_;
    const task_message task = write_task(*slot, sequence);
    loans_[*slot] = loan{true, true, worker, false, 0, sequence, task, {}, {}};
    if (has_workers()) {
        group_->assign(worker, task);
    } else {
        load_here(sequence, task);
    }
    return true;
}

task_message engine::machine::write_task(std::uint32_t slot, std::uint64_t sequence) {
    slot_record& record = pool_->record(slot);
    record.indices.swap(lookahead_);  // both keep a full batch's capacity
    have_lookahead_ = false;
    record.epoch = issuing_epoch_;
    record.number = next_number_ - 1;
    std::copy(record.indices.begin(), record.indices.end(), pool_->slots().indices(slot));
    task_message task{};
    task.sequence = sequence;
    task.generation = generation_;
    task.epoch = issuing_epoch_;
    task.first_position = next_position_;
    task.slot = slot;
    task.index_count = static_cast<std::uint32_t>(record.indices.size());
    next_position_ += record.indices.size();
    return task;
}

void engine::machine::load_here(std::uint64_t sequence, const task_message& task) {
    open_here();
    no_monitor monitor;
    batch_maker_settings settings{};
    settings.seed = options_.seed;
    settings.skip_bad = options_.on_bad == on_bad::skip;
    loans_[task.slot].lent = false;
    ledger_entry& entry = ledger_->at(sequence);
    try {
        // Once, or once more for each bad sample that is replaced.
        do {
            result_message result{};
            if (start_failure_) {
                result = fail_batch(pool_->slots(), task, *start_failure_);
            } else if (local_loop_) {
                result = local_loop_->run(make_batch_waiting(
                    *source_, pool_->slots(), task, settings, monitor, local_loop_->limits()));
            } else {
                result = make_batch(*source_, pool_->slots(), task, settings, monitor);
            }
            settle(entry, result);
        } while (options_.on_bad == on_bad::replace && entry.now == ledger_entry::state::waiting);
    } catch (...) {  // thrown out of the dataset's loop, or no memory for the words of a failure
        entry.failure = std::current_exception();
        entry.now = ledger_entry::state::failed;
        pool_->put_back(entry.slot);
    }
}

/// As in a worker: when the dataset cannot be opened, that is the result of each of its tasks.
void engine::machine::open_here() {
    if (opened_here_)
        return;
    opened_here_ = true;
    try {
        if (source_->waits()) {
            local_loop_ = std::make_unique<local_loop>(options_.in_flight, options_.sample_timeout,
                                                       options_.on_bad == on_bad::skip);
            local_loop_->run(source_->async_open(0, 0, options_.seed));
        } else {
            source_->open(0, 0, options_.seed);
        }
    } catch (...) {
        start_failure_ = describe(std::current_exception(), errc::worker_start_failed);
        start_failure_->code = errc::worker_start_failed;
    }
}

memory_use engine::machine::memory() const {
    return estimate_memory(pool_->slots().geometry(), options_, largest_batch_bytes_);
}

std::vector<pid_t> engine::machine::worker_processes() {
    if (!pending && !closed_ && !beyond_repair_)
        wake();
    return group_->processes();
}

}  // namespace stoker::detail
