// A lane is a chain of shards of which one is open. All that main must know to go on with a lane in
// another process is in the answers: where it stands, and, at its end, the samples that were too
// few for a batch.
//
// Errors must neither lose samples unsaid nor come for ever. So after a failure the shard is opened
// again at the position that its reader tells; and it is given up, in so many words, when that
// leads nowhere: the reader fails at the very place where it was opened, cannot tell its position,
// or has failed `failures_in_a_row` times with no sample between.

#include <stoker/collate/stream_lanes.hpp>

#include <exception>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <stoker/core/error.hpp>
#include "sampler/shard_order.hpp"

namespace stoker::detail {
namespace {

constexpr int failures_in_a_row = 100;

std::string name_of(std::uint64_t shard, std::uint64_t position) {
    return "shard " + std::to_string(shard) + ", position " + std::to_string(position);
}

/// The details of the exception in flight, with a remedy that names the place.
error_details details_at(std::uint64_t shard, std::uint64_t position) {
    error_details details = describe(std::current_exception(), errc::sample_failed);
    if (details.remedy.empty())
        details.remedy = "look behind " + name_of(shard, position) + " of the stream";
    return details;
}

context context_of(const fetch_task& task, std::uint64_t number) {
    return context(task.seed, task.epoch, task.first_position + number, task.worker,
                   task.num_workers);
}

/// Throws what open() throws, its text behind the shard's name.
std::unique_ptr<shard_reader> open_named(shard_source& source, std::uint64_t shard,
                                         std::uint64_t position) {
    try {
        return source.open_shard(shard, position);
    } catch (...) {
        error_details details = details_at(shard, position);
        details.text =
            "opening " + name_of(shard, position) + " of the stream: " + std::move(details.text);
        throw error(std::move(details));
    }
}

}  // namespace

class stream_lanes::lane {
  public:
    lane(shard_source& source, const shard_order& order, std::uint64_t number)
        : source_(source), order_(order), number_(number) {}

    std::uint64_t round() const { return round_; }
    void begin(std::uint64_t round, lane_place start) {
        reader_.reset();
        place_ = start;
        round_ = round;
        failures_ = 0;
    }

    /// Samples up to `wanted`, fewer at the end. Throws; in any case the place is then known.
    std::uint64_t read(const fetch_task& task, std::uint64_t wanted, fetch_monitor& monitor,
                       std::vector<stream_segment>& segments) {
        ++round_;
        segments.clear();
        std::uint64_t count = 0;
        bool begun = false;  // a segment of the open shard
        while (count < wanted && !monitor.abandoned()) {
            if (place_.ordinal >= order_.count(number_))
                break;
            monitor.begin_sample(task.first_position + count);
            if (!reader_)
                open();
            if (!std::exchange(begun, true))
                segments.push_back({shard(), place_.position, 0, 0});
            context c = context_of(task, count);
            if (!next(count, c, segments.back())) {
                if (segments.back().count == 0)
                    segments.pop_back();
                leave_shard();
                begun = false;
                continue;
            }
            failures_ = 0;
            ++segments.back().count;
            ++count;
        }
        if (reader_)
            place_.position = told_position();
        return count;
    }

    lane_place place() const { return place_; }

  private:
    std::uint64_t shard() const { return order_.shard(number_, place_.ordinal); }

    void leave_shard() {
        reader_.reset();
        place_ = {place_.ordinal + 1, 0};
        failures_ = 0;
    }

    void open() {
        try {
            reader_ = open_named(source_, shard(), place_.position);
        } catch (error& failure) {
            error_details details = failure.details();
            give_up(details, "it cannot be opened");
        }
    }

    [[noreturn]] void give_up(error_details details, const std::string& reason) {
        details.text += "; the rest of shard " + std::to_string(shard()) +
                        " is left out in this epoch: " + reason;
        leave_shard();
        throw error(std::move(details));
    }

    std::uint64_t told_position() {
        try {
            return reader_->position();
        } catch (...) {
            give_up(details_at(shard(), place_.position), "its reader cannot tell its position");
        }
    }

    bool next(std::uint64_t number, context& c, const stream_segment& segment) {
        try {
            return reader_->next(number, c);
        } catch (...) {
            fail(details_at(shard(), place_.position), segment);
        }
    }

    /// The open shard has thrown: decides where the lane goes on, and throws.
    [[noreturn]] void fail(error_details details, const stream_segment& segment) {
        ++failures_;
        std::uint64_t position = 0;
        try {
            position = reader_->position();
        } catch (...) {
            give_up(std::move(details), "its reader cannot tell its position after that");
        }
        if (segment.count == 0 && position == segment.position) {
            give_up(std::move(details), "its reader stays at position " + std::to_string(position));
        }
        if (failures_ >= failures_in_a_row)
            give_up(std::move(details),
                    std::to_string(failures_) + " samples in a row have failed");
        reader_.reset();
        place_.position = position;
        throw error(std::move(details));
    }

    shard_source& source_;
    const shard_order& order_;
    std::uint64_t number_;
    std::uint64_t round_ = 0;
    lane_place place_{};  ///< where the next batch begins
    std::unique_ptr<shard_reader> reader_{};
    int failures_ = 0;  ///< in a row
};

struct stream_lanes::state {
    shard_source& source;
    std::uint64_t pass = 0;
    shard_order order{};
    std::map<std::uint64_t, lane> lanes{};
    stream_request request{};
    stream_answer answer{};

    lane& lane_for_request(const fetch_task& task);
    std::uint64_t read_lane(const fetch_task& task, fetch_monitor& monitor);
    std::uint64_t read_again(const fetch_task& task, fetch_monitor& monitor);
    std::uint64_t read_segment(const stream_segment& segment, std::uint64_t count,
                               const fetch_task& task, fetch_monitor& monitor);
    void begin_answer(stream_outcome outcome) {
        answer.pass = request.pass;
        answer.lane = request.lane;
        answer.round = request.round;
        answer.outcome = outcome;
        answer.count = 0;
        answer.end = {};
        answer.segments.clear();
    }
};

stream_lanes::stream_lanes(shard_source& source) : state_(new state{source}) {}
stream_lanes::~stream_lanes() = default;

std::uint64_t stream_lanes::wanted(const fetch_task& task) {
    read_request(task.words, state_->request);
    return state_->request.wanted;
}

std::uint64_t stream_lanes::read(const fetch_task& task, fetch_monitor& monitor) {
    state& all = *state_;
    if (all.pass != all.request.pass) {  // readers of an epoch that is over, or was given up
        all.lanes.clear();
        all.pass = all.request.pass;
        all.order = shard_order(all.request.shards, all.request.shuffle, task.seed, task.epoch);
    }
    return all.request.again ? all.read_again(task, monitor) : all.read_lane(task, monitor);
}

stream_lanes::lane& stream_lanes::state::lane_for_request(const fetch_task& task) {
    const auto [found, fresh] = lanes.try_emplace(request.lane, source, order, request.lane);
    lane& one = found->second;
    if (request.start) {
        // What main knows is what this process knows, unless a predecessor has read the lane.
        if (fresh || one.round() != request.round)
            one.begin(request.round, *request.start);
    } else if (fresh || one.round() != request.round) {
        lanes.erase(found);
        throw error(errc::protocol, "batch " + std::to_string(request.round) + " of lane " +
                                        std::to_string(request.lane) + " of epoch " +
                                        std::to_string(task.epoch) +
                                        " was asked of a worker that has not read what is before");
    }
    return one;
}

std::uint64_t stream_lanes::state::read_lane(const fetch_task& task, fetch_monitor& monitor) {
    lane& one = lane_for_request(task);
    begin_answer(stream_outcome::failed);
    std::uint64_t count = 0;
    try {
        count = one.read(task, request.wanted, monitor, answer.segments);
    } catch (...) {
        answer.segments.clear();
        answer.end = one.place();
        write_answer(answer, task.words);
        throw;
    }
    const bool whole = count == request.wanted || (request.keep_short && count > 0);
    answer.outcome = whole ? stream_outcome::batch : stream_outcome::ended;
    answer.count = count;
    answer.end = one.place();
    if (whole)
        answer.segments.clear();
    write_answer(answer, task.words);
    return whole ? count : 0;
}

std::uint64_t stream_lanes::state::read_again(const fetch_task& task, fetch_monitor& monitor) {
    begin_answer(stream_outcome::failed);
    write_answer(answer, task.words);  // stands unless all goes well
    std::uint64_t count = 0;
    for (const stream_segment& segment : request.segments) {
        count += read_segment(segment, count, task, monitor);
        if (monitor.abandoned())
            return 0;
    }
    answer.outcome = stream_outcome::batch;
    answer.count = count;
    write_answer(answer, task.words);
    return count;
}

std::uint64_t stream_lanes::state::read_segment(const stream_segment& segment, std::uint64_t count,
                                                const fetch_task& task, fetch_monitor& monitor) {
    monitor.begin_sample(task.first_position + count);
    const auto reader = open_named(source, segment.shard, segment.position);
    for (std::uint64_t i = 0; i < segment.skip + segment.count && !monitor.abandoned(); ++i) {
        const bool kept = i >= segment.skip;
        const std::uint64_t number = kept ? count + i - segment.skip : count;
        monitor.begin_sample(task.first_position + number);
        context c = context_of(task, number);
        bool there = false;
        try {
            there = kept ? reader->next(number, c) : reader->skip(c);
        } catch (...) {
            throw error(details_at(segment.shard, segment.position));
        }
        if (!there) {
            throw error(
                {.code = errc::invalid_dataset,
                 .text = "shard " + std::to_string(segment.shard) + " of the stream gave " +
                         std::to_string(segment.skip + segment.count) + " samples from position " +
                         std::to_string(segment.position) + ", and only " + std::to_string(i) +
                         " when it was opened there again",
                 .remedy =
                     "let open(shard, position) give the same samples each time: what is left "
                     "of each lane at the end of an epoch is read again"});
        }
    }
    return segment.count;
}

}  // namespace stoker::detail
