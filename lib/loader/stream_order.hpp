#pragma once
// Which samples of a stream the next batch is made of, as main decides it: pure bookkeeping, with
// no process, slot or clock in it.

#include <cstdint>
#include <optional>
#include <vector>

#include <stoker/collate/stream_task.hpp>

namespace stoker::detail {

/// What was asked for by one task; main keeps it until the answer comes.
struct stream_ticket {
    std::uint64_t lane = 0;
    std::uint64_t round = 0;
    std::uint64_t first_position = 0;  ///< of the batch's first sample in its epoch
    std::uint64_t wanted = 0;          ///< samples
    bool again = false;                ///< ends of lanes, read again
};

/// The order of a stream's batches; `stoker::stream` describes it.
///
/// Thread safety: one thread at a time.
class stream_order {
  public:
    struct settings {
        stream_shape shape{};
        std::uint64_t batch_size = 1;
        bool shuffle = false;
        bool drop_last = false;
    };
    explicit stream_order(settings options);

    /// Starts an epoch; what was asked for before is never settled.
    void begin();

    enum class step {
        read,  ///< there is a next task
        wait,  ///< what comes next depends on answers that are still to come
        end,   ///< of the epoch: all is settled
    };
    step next() const;
    /// The lane that the next task reads; unset when any worker may do it.
    std::optional<std::uint64_t> next_lane() const;
    /// Only when `next` is `read`. Fills in all of the request.
    stream_ticket issue(stream_request& request);

    /// What to do about a result.
    enum class verdict {
        deliver,  ///< it is a batch, or a failure to be told
        skip,     ///< there is nothing to deliver
        broken,   ///< the answer makes no sense
    };
    struct settlement {
        verdict what = verdict::broken;
        std::uint64_t samples = 0;  ///< of the batch
    };
    /// Where the lane of a ticket goes on, when nothing before the ticket is under way: for a task
    /// that another process is to do.
    std::optional<lane_place> start_of(const stream_ticket& ticket) const;
    /// In place of `settle`, for a ticket with no other before it in its lane: nobody will do the
    /// task. The lane goes on with the shard after the one in which the task began; gives that
    /// one's ordinal, unless it was to be read again.
    std::optional<std::uint64_t> leave_shard(const stream_ticket& ticket);

    /// Once for each ticket, in the order of issue within a lane. `answer` is null when the worker
    /// left none. `failed`: an error report came.
    settlement settle(const stream_ticket& ticket, bool failed, const stream_answer* answer);

    /// Whether the epoch has had a batch or a failure.
    bool any() const { return any_; }
    /// Once `next` is `end`: samples that drop_last leaves out.
    std::uint64_t left_out() const { return tail_samples_; }
    /// Batches an epoch, where the stream says how many samples it has.
    std::optional<std::uint64_t> length() const;
    std::uint64_t batch_size() const { return options_.batch_size; }

  private:
    struct lane {
        bool ended = false;
        std::uint64_t settled = 0;  ///< rounds
        std::uint64_t under_way = 0;
        lane_place place{};  ///< where the first round that is not settled begins
        std::vector<stream_segment> tail{};
    };

    bool fits(const stream_ticket& ticket, const stream_answer& answer) const;
    bool is_tail(const stream_answer& answer) const;
    settlement settle_lane(const stream_ticket& ticket, bool failed, const stream_answer* answer);
    void end_lane(const stream_ticket& ticket);
    void step_on();
    stream_ticket issue_lane(stream_request& request);
    stream_ticket issue_again(stream_request& request);

    settings options_;
    std::uint64_t pass_ = 0;
    std::vector<lane> lanes_;
    std::uint64_t living_ = 0;  ///< lanes that have not ended
    std::uint64_t round_ = 0;
    std::uint64_t lane_ = 0;  ///< next in this round
    std::uint64_t under_way_ = 0;
    bool any_ = false;

    // What is left of the lanes, once all have ended.
    std::uint64_t rounds_ = 0;  ///< that lanes have taken
    std::vector<stream_segment> tails_{};
    std::size_t tail_ = 0;            ///< the next of them
    std::uint64_t tail_offset_ = 0;   ///< samples of it that are issued
    std::uint64_t tail_samples_ = 0;  ///< not issued yet
    std::uint64_t tail_batches_ = 0;  ///< issued
};

}  // namespace stoker::detail
