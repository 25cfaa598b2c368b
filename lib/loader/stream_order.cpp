// Tasks run ahead of what is known: a lane is asked for more batches before it has said whether it
// has them. So a lane that has ended gives answers without samples, which are skipped. Nothing of
// the order depends on how far ahead tasks were given: a lane's batches are numbered by rounds, and
// positions are counted as if no lane ever ended.

#include "loader/stream_order.hpp"

#include <algorithm>
#include <utility>

#include <stoker/sampler/batch_count.hpp>
#include "sampler/shard_order.hpp"

namespace stoker::detail {

stream_order::stream_order(settings options) : options_(options) {
    require_batch_size(options_.batch_size);
}

void stream_order::begin() {
    ++pass_;
    lanes_.assign(lanes_of(options_.shape.shards), lane{});
    living_ = lanes_.size();
    round_ = lane_ = under_way_ = rounds_ = 0;
    tails_.clear();
    tail_ = 0;
    tail_offset_ = tail_samples_ = tail_batches_ = 0;
    any_ = false;
}

stream_order::step stream_order::next() const {
    if (living_ > 0)
        return step::read;
    const std::uint64_t least = options_.drop_last ? options_.batch_size : 1;
    if (tail_samples_ >= least)
        return step::read;
    return under_way_ > 0 ? step::wait : step::end;
}

std::optional<std::uint64_t> stream_order::next_lane() const {
    return living_ > 0 ? std::optional(lane_) : std::nullopt;
}

stream_ticket stream_order::issue(stream_request& request) {
    request = stream_request{.segments = std::move(request.segments)};  // keeps its capacity
    request.segments.clear();
    request.pass = pass_;
    request.shards = options_.shape.shards;
    request.lanes = lanes_.size();
    request.shuffle = options_.shuffle;
    ++under_way_;
    return living_ > 0 ? issue_lane(request) : issue_again(request);
}

stream_ticket stream_order::issue_lane(stream_request& request) {
    lane& one = lanes_[lane_];
    stream_ticket ticket;
    ticket.lane = request.lane = lane_;
    ticket.round = request.round = round_;
    ticket.wanted = request.wanted = options_.batch_size;
    ticket.first_position = (round_ * lanes_.size() + lane_) * options_.batch_size;
    request.keep_short = lanes_.size() == 1 && !options_.drop_last;
    request.start = start_of(ticket);
    ++one.under_way;
    ++lane_;
    step_on();
    return ticket;
}

/// To the next lane that has not ended.
void stream_order::step_on() {
    while (living_ > 0) {
        if (lane_ == lanes_.size()) {
            lane_ = 0;
            ++round_;
        }
        if (!lanes_[lane_].ended)
            return;
        ++lane_;
    }
}

stream_ticket stream_order::issue_again(stream_request& request) {
    stream_ticket ticket;
    ticket.again = request.again = true;
    ticket.lane = request.lane = tail_batches_;
    ticket.round = request.round = rounds_;
    ticket.wanted = request.wanted = std::min(options_.batch_size, tail_samples_);
    ticket.first_position = (rounds_ * lanes_.size() + tail_batches_) * options_.batch_size;
    for (std::uint64_t missing = ticket.wanted; missing > 0;) {
        const stream_segment& from = tails_[tail_];
        const std::uint64_t taken = std::min(missing, from.count - tail_offset_);
        request.segments.push_back({from.shard, from.position, tail_offset_, taken});
        missing -= taken;
        tail_offset_ += taken;
        if (tail_offset_ == from.count) {
            ++tail_;
            tail_offset_ = 0;
        }
    }
    tail_samples_ -= ticket.wanted;
    ++tail_batches_;
    return ticket;
}

stream_order::settlement stream_order::settle(const stream_ticket& ticket, bool failed,
                                              const stream_answer* answer) {
    --under_way_;
    if (answer != nullptr && !fits(ticket, *answer))
        answer = nullptr;
    settlement result{};
    if (!ticket.again) {
        result = settle_lane(ticket, failed, answer);
    } else if (failed) {
        result.what = verdict::deliver;
    } else if (answer != nullptr && answer->outcome == stream_outcome::batch &&
               answer->count == ticket.wanted) {
        result = {verdict::deliver, answer->count};
    }
    any_ = any_ || result.what != verdict::skip;
    return result;
}

stream_order::settlement stream_order::settle_lane(const stream_ticket& ticket, bool failed,
                                                   const stream_answer* answer) {
    lane& one = lanes_[ticket.lane];
    --one.under_way;
    ++one.settled;
    if (one.ended)
        return {verdict::skip, 0};
    const bool is_batch =
        answer != nullptr && answer->outcome == stream_outcome::batch && answer->count > 0 &&
        (answer->count == ticket.wanted || (lanes_.size() == 1 && !options_.drop_last));
    const bool goes_on =
        answer != nullptr && ((is_batch && answer->count == ticket.wanted) ||
                              (failed && answer->outcome == stream_outcome::failed));
    if (goes_on) {
        one.place = answer->end;
        return {verdict::deliver, answer->count};
    }
    settlement result{};
    if (failed) {
        result.what = verdict::deliver;  // and nothing is known of the lane any more
    } else if (is_batch) {
        result = {verdict::deliver, answer->count};
    } else if (answer != nullptr && is_tail(*answer)) {
        one.tail = answer->segments;
        result.what = verdict::skip;
    }
    end_lane(ticket);
    return result;
}

std::optional<lane_place> stream_order::start_of(const stream_ticket& ticket) const {
    if (ticket.again || lanes_[ticket.lane].settled != ticket.round)
        return std::nullopt;
    return lanes_[ticket.lane].place;
}

std::optional<std::uint64_t> stream_order::leave_shard(const stream_ticket& ticket) {
    --under_way_;
    any_ = true;
    if (ticket.again)
        return std::nullopt;
    lane& one = lanes_[ticket.lane];
    --one.under_way;
    ++one.settled;
    const std::uint64_t left = one.place.ordinal;
    one.place = {left + 1, 0};
    return left;
}

/// Whether the answer is one to this ticket, with no count that was never asked for.
bool stream_order::fits(const stream_ticket& ticket, const stream_answer& answer) const {
    return answer.pass == pass_ && answer.lane == ticket.lane && answer.round == ticket.round &&
           answer.count <= ticket.wanted;
}

bool stream_order::is_tail(const stream_answer& answer) const {
    if (answer.outcome != stream_outcome::ended || answer.count >= options_.batch_size)
        return false;
    std::uint64_t sum = 0;
    for (const stream_segment& each : answer.segments) {
        if (each.shard >= options_.shape.shards || each.skip != 0 || each.count == 0 ||
            each.count > answer.count - sum)
            return false;
        sum += each.count;
    }
    return sum == answer.count;
}

void stream_order::end_lane(const stream_ticket& ticket) {
    lanes_[ticket.lane].ended = true;
    --living_;
    rounds_ = std::max(rounds_, ticket.round + 1);
    step_on();
    if (living_ > 0)
        return;
    for (lane& each : lanes_) {
        for (const stream_segment& segment : each.tail) {
            tails_.push_back(segment);
            tail_samples_ += segment.count;
        }
        each.tail.clear();
    }
}

std::optional<std::uint64_t> stream_order::length() const {
    if (!options_.shape.samples)
        return std::nullopt;
    return batch_count(*options_.shape.samples, options_.batch_size, options_.drop_last);
}

}  // namespace stoker::detail
