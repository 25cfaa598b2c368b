// What becomes of bad samples that do not cost their batch.
//
// `on_bad::skip`: samples that fail, or that kill each worker that makes them, are left out of
// their batch, which keeps its place and its number in the order. The samples that stay keep their
// positions, so that their random numbers are what they would have been.
//
// `on_bad::replace`: main asks the user's function for another index, puts it in the place of the
// bad one in its own list, and has the batch made again, by whoever is free, under the same
// sequence number: the way of a batch whose worker died. So the function lives here and nowhere
// else, and nothing depends on who makes what.

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include <stoker/core/error.hpp>
#include <stoker/core/index.hpp>
#include <stoker/loader/bad_sample.hpp>
#include "loader/machine.hpp"
#include "worker/batch_maker.hpp"

namespace stoker::detail {

namespace {

constexpr std::size_t most_listed = 1000;
/// After so many batches of nothing but bad samples an endless loader says so, or it would look for
/// a good one for ever.
constexpr std::uint64_t most_empty_in_a_row = 1000;

}  // namespace

void engine::machine::note_skipped(error_details failure) {
    if (skipped_.latest.size() == most_listed)
        skipped_.latest.erase(skipped_.latest.begin());
    skipped_.latest.push_back(std::move(failure));
}

/// What the worker has left out goes from main's own list of indices, too. False: it does not fit.
bool engine::machine::leave_out_skipped(std::uint32_t slot, const result_message& result) {
    loan& held = loans_[slot];
    std::vector<index>& indices = pool_->record(slot).indices;
    if (options_.on_bad != on_bad::skip)
        return false;
    if (held.numbers.empty()) {
        held.numbers.resize(indices.size());
        std::iota(held.numbers.begin(), held.numbers.end(), std::uint64_t{0});
    }
    if (!read_skips(pool_->slots(), result, held.numbers, skips_))
        return false;
    std::vector<index> kept;
    auto next = held.numbers.begin();
    for (const std::uint64_t number : skips_.numbers) {
        next = std::find(next, held.numbers.end(), number);
        kept.push_back(indices[static_cast<std::size_t>(next - held.numbers.begin())]);
    }
    std::copy(kept.begin(), kept.end(), indices.begin());
    indices.resize(kept.size());
    skipped_.count += result.skipped;
    for (error_details& each : skips_.errors)
        note_skipped(std::move(each));
    return true;
}

/// Nothing was left of the batch: the next one comes in its place.
void engine::machine::drop_empty(ledger_entry& entry, std::uint64_t sequence) {
    if (++empty_in_a_row_ >= most_empty_in_a_row) {
        empty_in_a_row_ = 0;
        error_details details{};
        if (!skipped_.latest.empty())
            details = skipped_.latest.back();
        details.code = errc::sample_failed;
        details.text =
            std::to_string(most_empty_in_a_row) +
            " batches in a row had nothing but bad samples, the last of them: " + details.text;
        entry.failure = std::make_exception_ptr(error(std::move(details)));
        entry.now = ledger_entry::state::failed;
        pool_->put_back(entry.slot);
        return;
    }
    pool_->put_back(entry.slot);
    ledger_->remove(sequence);
    --outstanding_;
}

/// A sample that kills its workers is left out of its batch, which is tried again without it. False
/// where that is not wanted.
bool engine::machine::skip_suspect(std::uint32_t slot, const error_details& accusation) {
    loan& held = loans_[slot];
    ledger_entry& entry = ledger_->at(held.sequence);
    std::vector<index>& indices = pool_->record(slot).indices;
    const auto place = std::find(indices.begin(), indices.end(), entry.suspect);
    if (options_.on_bad != on_bad::skip || place == indices.end())
        return false;
    const auto number = place - indices.begin();
    if (held.numbers.empty()) {
        held.numbers.resize(indices.size());
        std::iota(held.numbers.begin(), held.numbers.end(), std::uint64_t{0});
    }
    indices.erase(place);
    held.numbers.erase(held.numbers.begin() + number);
    ++skipped_.count;
    note_skipped(accusation);
    if (indices.empty()) {
        held.lent = false;
        drop_empty(entry, held.sequence);
        return true;
    }
    entry.deaths = 0;
    held.worker = entry.worker = -1;
    held.task.index_count = static_cast<std::uint32_t>(indices.size());
    held.task.gaps = 1;
    orphans_.push_back(slot);
    return true;
}

/// The batch is made again, with what main's list says now.
void engine::machine::make_again(std::uint32_t slot) {
    loan& held = loans_[slot];
    if (!has_workers()) {
        const std::vector<index>& indices = pool_->record(slot).indices;
        std::copy(indices.begin(), indices.end(), pool_->slots().indices(slot));
        return;
    }
    held.lent = true;
    held.worker = ledger_->at(held.sequence).worker = -1;
    orphans_.push_back(slot);
    sort_orphans();
}

/// Puts another sample into one place of a batch. False, with the reason in `failure`, when there
/// is none to be had: the batch fails.
bool engine::machine::replace_sample(loan& held, std::size_t place, error_details& failure) {
    std::vector<index>& indices = pool_->record(held.task.slot).indices;
    auto found = std::find_if(held.stand_ins.begin(), held.stand_ins.end(),
                              [place](const auto& each) { return each.place == place; });
    if (found == held.stand_ins.end()) {
        held.stand_ins.push_back({place, indices[place], 0});
        found = held.stand_ins.end() - 1;
    }
    if (found->attempts == replacement_attempts_) {
        failure.text = "sample " + std::to_string(found->wanted) + " is bad, and so were the " +
                       std::to_string(found->attempts) +
                       " that replace_bad named for it, the last of them: " + failure.text;
        return false;
    }
    const int attempt = ++found->attempts;
    const std::uint64_t position = held.task.first_position + place;
    const std::uint64_t key =
        options_.seed + static_cast<std::uint64_t>(attempt) * 0x9e3779b97f4a7c15U;
    bad_sample bad{indices[place],
                   found->wanted,
                   attempt,
                   size_,
                   held.task.epoch,
                   position,
                   random(key, held.task.epoch, position),
                   failure};
    try {
        const index chosen = replacement_(bad);
        if (chosen >= size_) {
            throw error(errc::index_out_of_range,
                        "replace_bad named " + describe_index(chosen) + " for sample " +
                            std::to_string(indices[place]) + ", but the dataset has " +
                            std::to_string(size_) + " samples");
        }
        ++skipped_.count;
        note_skipped(failure);
        indices[place] = chosen;
        return true;
    } catch (...) {
        error_details thrown = describe(std::current_exception(), errc::sample_failed);
        if (thrown.code != errc::index_out_of_range)
            thrown.text = "replace_bad threw: " + thrown.text;
        thrown.text += "; what was to be replaced: " + failure.text;
        if (!thrown.sample)
            thrown.sample = failure.sample;
        failure = std::move(thrown);
        return false;
    }
}

/// A batch came back failed: true when it is on its way again, or failed for good here.
bool engine::machine::replace_failed(ledger_entry& entry, const result_message& result) {
    if (static_cast<result_status>(result.status) != result_status::failed)
        return false;
    error_details failure = read_failure(pool_->slots(), result);
    if (!failure.sample || concerns_batch(failure.code))
        return false;
    const std::vector<index>& indices = pool_->record(entry.slot).indices;
    std::size_t place = result.place;  // from 1 up
    if (place == 0 || place > indices.size() || indices[place - 1] != *failure.sample) {
        const auto found = std::find(indices.begin(), indices.end(), *failure.sample);
        if (found == indices.end())
            return false;
        place = static_cast<std::size_t>(found - indices.begin()) + 1;
    }
    if (replace_sample(loans_[entry.slot], place - 1, failure)) {
        make_again(entry.slot);
        return true;
    }
    entry.failure = std::make_exception_ptr(error(std::move(failure)));
    entry.now = ledger_entry::state::failed;
    pool_->put_back(entry.slot);
    return true;
}

/// The same for a sample that kills its workers. False: its batch fails, as `accusation` says.
bool engine::machine::replace_suspect(std::uint32_t slot, error_details& accusation) {
    if (options_.on_bad != on_bad::replace)
        return false;
    loan& held = loans_[slot];
    ledger_entry& entry = ledger_->at(held.sequence);
    const std::vector<index>& indices = pool_->record(slot).indices;
    const auto found = std::find(indices.begin(), indices.end(), entry.suspect);
    if (found == indices.end())
        return false;
    if (!replace_sample(held, static_cast<std::size_t>(found - indices.begin()), accusation))
        return false;
    entry.deaths = 0;
    make_again(slot);
    return true;
}

}  // namespace stoker::detail
