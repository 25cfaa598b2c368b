// Requests and answers lie where the indices of other batches do, as numbers of 64 bits: a head of
// fixed length, then the segments. A tag tells one from the other, so that a worker which fails
// before it gets to reading leaves something that is no answer.

#include <stoker/collate/stream_task.hpp>

#include <algorithm>

#include <stoker/core/error.hpp>

namespace stoker::detail {
namespace {

constexpr std::uint64_t request_tag = 0x7374'6f6b'6572'5f71;
constexpr std::uint64_t answer_tag = 0x7374'6f6b'6572'5f61;
constexpr std::size_t head_words = 11;
constexpr std::size_t segment_words = 4;

class word_writer {
  public:
    explicit word_writer(std::span<std::uint64_t> words) : words_(words) {}
    void put(std::uint64_t value) { words_[at_++] = value; }
    void put_segments(const std::vector<stream_segment>& segments) {
        put(segments.size());
        at_ = head_words;
        for (const stream_segment& each : segments) {
            put(each.shard);
            put(each.position);
            put(each.skip);
            put(each.count);
        }
    }

  private:
    std::span<std::uint64_t> words_;
    std::size_t at_ = 0;
};

/// Reads each word once: the other side may change it at any time.
class word_reader {
  public:
    explicit word_reader(std::span<const std::uint64_t> words) : words_(words) {}
    std::uint64_t take() { return *static_cast<const volatile std::uint64_t*>(&words_[at_++]); }
    bool take_segments(std::vector<stream_segment>& segments) {
        const std::uint64_t count = take();
        at_ = head_words;
        segments.clear();
        if (count > (words_.size() - head_words) / segment_words)
            return false;
        for (std::uint64_t i = 0; i < count; ++i) {
            stream_segment& each = segments.emplace_back();
            each.shard = take();
            each.position = take();
            each.skip = take();
            each.count = take();
        }
        return true;
    }

  private:
    std::span<const std::uint64_t> words_;
    std::size_t at_ = 0;
};

// Flags of a request.
constexpr std::uint64_t shuffle = 1;
constexpr std::uint64_t keep_short = 2;
constexpr std::uint64_t has_start = 4;
constexpr std::uint64_t again = 8;

}  // namespace

std::uint64_t stream_words(std::uint64_t batch_size, std::uint64_t shards) {
    return head_words + segment_words * std::min(batch_size, shards);
}

void write_request(const stream_request& request, std::span<std::uint64_t> words) {
    word_writer out(words);
    out.put(request_tag);
    out.put(request.pass);
    out.put(request.shards);
    out.put(request.lanes);
    out.put(request.lane);
    out.put(request.round);
    out.put(request.wanted);
    out.put((request.shuffle ? shuffle : 0) | (request.keep_short ? keep_short : 0) |
            (request.start ? has_start : 0) | (request.again ? again : 0));
    const lane_place start = request.start.value_or(lane_place{});
    out.put(start.ordinal);
    out.put(start.position);
    out.put_segments(request.segments);
}

void read_request(std::span<const std::uint64_t> words, stream_request& request) {
    if (words.size() < head_words)
        throw error(errc::protocol, "a task has no room for a stream's words");
    word_reader in(words);
    const bool tagged = in.take() == request_tag;
    request.pass = in.take();
    request.shards = in.take();
    request.lanes = in.take();
    request.lane = in.take();
    request.round = in.take();
    request.wanted = in.take();
    const std::uint64_t flags = in.take();
    request.shuffle = (flags & shuffle) != 0;
    request.keep_short = (flags & keep_short) != 0;
    request.again = (flags & again) != 0;
    lane_place start{};
    start.ordinal = in.take();
    start.position = in.take();
    request.start = (flags & has_start) != 0 ? std::optional(start) : std::nullopt;
    const bool whole = in.take_segments(request.segments);
    if (!tagged || !whole)
        throw error(errc::protocol, "a task does not say what to read of a stream");
}

void write_answer(const stream_answer& answer, std::span<std::uint64_t> words) {
    word_writer out(words);
    out.put(answer_tag);
    out.put(answer.pass);
    out.put(answer.lane);
    out.put(answer.round);
    out.put(static_cast<std::uint64_t>(answer.outcome));
    out.put(answer.count);
    out.put(answer.end.ordinal);
    out.put(answer.end.position);
    out.put_segments(answer.segments);
}

bool read_answer(std::span<const std::uint64_t> words, stream_answer& answer) {
    if (words.size() < head_words)
        return false;
    word_reader in(words);
    const bool tagged = in.take() == answer_tag;
    answer.pass = in.take();
    answer.lane = in.take();
    answer.round = in.take();
    const std::uint64_t outcome = in.take();
    answer.outcome = static_cast<stream_outcome>(outcome);
    answer.count = in.take();
    answer.end.ordinal = in.take();
    answer.end.position = in.take();
    return in.take_segments(answer.segments) && tagged &&
           outcome <= static_cast<std::uint64_t>(stream_outcome::failed);
}

}  // namespace stoker::detail
