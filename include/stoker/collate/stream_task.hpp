#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace stoker::detail {

/// What main knows of a stream before it is read.
struct stream_shape {
    std::uint64_t shards = 0;
    std::optional<std::uint64_t> samples{};  ///< of all shards
};

/// Samples that follow one another in a shard.
struct stream_segment {
    std::uint64_t shard = 0;
    std::uint64_t position = 0;  ///< the reader's own, where to open
    std::uint64_t skip = 0;      ///< samples to step over from there
    std::uint64_t count = 0;

    bool operator==(const stream_segment&) const = default;
};

/// Where a lane goes on.
struct lane_place {
    std::uint64_t ordinal = 0;   ///< of the shard, among those of the lane
    std::uint64_t position = 0;  ///< in it

    bool operator==(const lane_place&) const = default;
};

/// Main → worker, in the slot of a task: which samples of a stream. Either the next ones of a lane,
/// or, with `again`, segments that ended their lanes.
struct stream_request {
    std::uint64_t pass = 0;    ///< over all shards: another one for each epoch and restart
    std::uint64_t shards = 0;  ///< of the stream, as main has counted them
    std::uint64_t lanes = 0;
    std::uint64_t lane = 0;
    std::uint64_t round = 0;   ///< batches of the lane before this one
    std::uint64_t wanted = 0;  ///< samples
    bool shuffle = false;
    bool keep_short = false;            ///< fewer than wanted, at the lane's end, are a batch
    std::optional<lane_place> start{};  ///< of the lane; unset: where its worker is
    bool again = false;
    std::vector<stream_segment> segments{};
};

enum class stream_outcome : std::uint64_t {
    batch,   ///< `count` samples were read; fewer than wanted: the lane has ended
    ended,   ///< the lane has ended: `segments` are less than a batch, and not in the columns
    failed,  ///< an error report lies in the slot; the lane goes on at `end`
};

/// Worker → main, in the request's place.
struct stream_answer {
    std::uint64_t pass = 0;
    std::uint64_t lane = 0;
    std::uint64_t round = 0;
    stream_outcome outcome = stream_outcome::failed;
    std::uint64_t count = 0;
    lane_place end{};
    std::vector<stream_segment> segments{};
};

/// Words that a request or an answer takes at most: of batches of `batch_size` samples from so many
/// shards.
std::uint64_t stream_words(std::uint64_t batch_size, std::uint64_t shards);

/// The words of a request. There is room (`stream_words`).
void write_request(const stream_request& request, std::span<std::uint64_t> words);
/// Throws error{protocol} when the words are no request.
void read_request(std::span<const std::uint64_t> words, stream_request& request);
void write_answer(const stream_answer& answer, std::span<std::uint64_t> words);
/// Words that a worker wrote: each is read once. False when they are no answer.
bool read_answer(std::span<const std::uint64_t> words, stream_answer& answer);

}  // namespace stoker::detail
