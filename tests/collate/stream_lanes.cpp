#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <stoker/collate/stream_lanes.hpp>
#include <stoker/core/error.hpp>
#include <string>
#include <vector>

#include "support/catch.hpp"

using namespace stoker::detail;
using Catch::Matchers::ContainsSubstring;
using stoker::context;
using values = std::vector<std::uint64_t>;

namespace {

/// Shards of numbers: number i of shard s is 1000 s + i. What fails is told by `fails`.
struct scripted : shard_source {
    std::vector<std::uint64_t> sizes;
    std::function<bool(std::uint64_t value)> fails = [](std::uint64_t) { return false; };
    bool moves_on = true;           ///< the position behind a failure is that of the next sample
    bool can_tell = true;           ///< position() does not throw
    std::uint64_t unopened = ~0UL;  ///< shard that cannot be opened
    values made{};                  ///< kept for the batch
    values positions{};             ///< of contexts
    std::size_t calls_after_end = 0;
    int open_now = 0;
    int most_open = 0;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> opened{};

    class reader : public shard_reader {
      public:
        reader(scripted& owner, std::uint64_t shard, std::uint64_t position)
            : owner_(owner), shard_(shard), position_(position) {
            owner_.most_open = std::max(owner_.most_open, ++owner_.open_now);
        }
        ~reader() override { --owner_.open_now; }
        bool next(std::uint64_t number, context& c) override {
            if (!advance())
                return false;
            CHECK(number == owner_.made.size());
            owner_.made.push_back(value_);
            owner_.positions.push_back(c.position());
            return true;
        }
        bool skip(context&) override { return advance(); }
        std::uint64_t position() override {
            if (!owner_.can_tell)
                throw std::logic_error("lost");
            return position_;
        }

      private:
        bool advance() {
            if (ended_)
                ++owner_.calls_after_end;
            if (position_ >= owner_.sizes[shard_]) {
                ended_ = true;
                return false;
            }
            value_ = 1000 * shard_ + position_;
            if (owner_.fails(value_)) {
                if (owner_.moves_on)
                    ++position_;
                throw std::out_of_range("bad " + std::to_string(value_));
            }
            ++position_;
            return true;
        }
        scripted& owner_;
        std::uint64_t shard_;
        std::uint64_t position_;
        std::uint64_t value_ = 0;
        bool ended_ = false;
    };

    std::unique_ptr<shard_reader> open_shard(std::uint64_t shard, std::uint64_t position) override {
        if (shard == unopened)
            throw std::invalid_argument("no such file");
        opened.emplace_back(shard, position);
        return std::make_unique<reader>(*this, shard, position);
    }
};

struct watcher : fetch_monitor {
    stoker::index last = 0;
    bool gone = false;
    void begin_sample(stoker::index sample) noexcept override { last = sample; }
    bool abandoned() const noexcept override { return gone; }
};

/// A process that reads lanes, and what main would get from it.
struct process {
    explicit process(std::vector<std::uint64_t> sizes) { source.sizes = std::move(sizes); }

    /// The values of the batch; its answer lies in `answer`, its error in `failure`.
    values read(stream_request request) {
        request.pass = pass;
        request.shards = source.sizes.size();
        request.lanes = std::min<std::uint64_t>(request.shards, 64);
        words.assign(1000, 0);
        write_request(request, words);
        fetch_task task;
        task.words = words;
        task.first_position = 100 * request.round;
        source.made.clear();
        failure = stoker::error_details{};
        std::uint64_t count = 0;
        try {
            CHECK(lanes.wanted(task) == request.wanted);
            count = lanes.read(task, monitor);
        } catch (const stoker::error& e) {
            failure = e.details();
        }
        answered = read_answer(words, answer);
        source.made.resize(count);
        return source.made;
    }
    values lane(std::uint64_t lane, std::uint64_t round, std::uint64_t wanted,
                std::optional<lane_place> start = std::nullopt, bool keep_short = false) {
        stream_request request;
        request.lane = lane;
        request.round = round;
        request.wanted = wanted;
        request.start = round == 0 ? lane_place{} : start;
        request.keep_short = keep_short;
        return read(request);
    }

    scripted source;
    stream_lanes lanes{source};
    watcher monitor;
    std::uint64_t pass = 1;
    std::vector<std::uint64_t> words;
    stream_answer answer;
    bool answered = false;
    stoker::error_details failure;
};

}  // namespace

TEST_CASE("A lane's shards follow one another without a seam", "[collate]") {
    std::vector<std::uint64_t> sizes(129, 0);
    sizes[0] = 3;
    sizes[64] = 2;
    sizes[128] = 4;
    process one(sizes);
    CHECK(one.lane(0, 0, 4) == values{0, 1, 2, 64000});
    CHECK(one.answer.outcome == stream_outcome::batch);
    CHECK(one.answer.end == lane_place{1, 1});
    CHECK(one.lane(0, 1, 4) == values{64001, 128000, 128001, 128002});
    CHECK(one.source.positions[4] == 100);
    CHECK(one.source.positions[7] == 103);
    CHECK(one.lane(0, 2, 4).empty());
    CHECK(one.answer.outcome == stream_outcome::ended);
    CHECK(one.answer.count == 1);
    CHECK(one.answer.segments == std::vector<stream_segment>{{128, 3, 0, 1}});
    CHECK(one.lane(0, 3, 4).empty());  // asked for before it was known
    CHECK(one.answer.outcome == stream_outcome::ended);
    CHECK(one.answer.segments.empty());
    CHECK(one.source.calls_after_end == 0);
    CHECK(one.source.open_now == 0);
}

TEST_CASE("The end of a lane is told in segments, one for each shard that has samples",
          "[collate]") {
    std::vector<std::uint64_t> sizes(64 * 4 + 1, 0);
    sizes[0] = 5;
    sizes[64] = 1;
    sizes[192] = 2;
    process one(sizes);
    CHECK(one.lane(0, 0, 3) == values{0, 1, 2});
    CHECK(one.lane(0, 1, 10).empty());
    CHECK(one.answer.count == 5);
    CHECK(one.answer.segments ==
          std::vector<stream_segment>{{0, 3, 0, 2}, {64, 0, 0, 1}, {192, 0, 0, 2}});
}

TEST_CASE("The end of an only lane is a batch", "[collate]") {
    process one({5});
    CHECK(one.lane(0, 0, 3, {}, true) == values{0, 1, 2});
    CHECK(one.lane(0, 1, 3, {}, true) == values{3, 4});
    CHECK(one.answer.outcome == stream_outcome::batch);
    CHECK(one.answer.count == 2);
    CHECK(one.lane(0, 2, 3, {}, true).empty());
    CHECK(one.answer.outcome == stream_outcome::ended);
}

TEST_CASE("Segments are read again, from where they begin, and only as far as asked", "[collate]") {
    process one({5, 5});
    stream_request request;
    request.again = true;
    request.wanted = 4;
    request.segments = {{0, 2, 1, 2}, {1, 0, 0, 2}};
    CHECK(one.read(request) == values{3, 4, 1000, 1001});
    CHECK(one.answer.outcome == stream_outcome::batch);
    CHECK(one.answer.count == 4);
    CHECK(one.source.open_now == 0);
}

TEST_CASE("Segments that are shorter when read again are an error that says so", "[collate]") {
    process one({5});
    stream_request request;
    request.again = true;
    request.wanted = 3;
    request.segments = {{0, 3, 0, 3}};
    CHECK(one.read(request).empty());
    CHECK(one.failure.code == stoker::errc::invalid_dataset);
    CHECK(one.failure.text ==
          "shard 0 of the stream gave 3 samples from position 3, and only 2 when it was opened "
          "there again");
    CHECK(one.answer.outcome == stream_outcome::failed);
}

TEST_CASE("A sample that fails costs its batch, and the lane goes on behind it", "[collate]") {
    process one({6});
    one.source.fails = [](std::uint64_t value) { return value == 1; };
    CHECK(one.lane(0, 0, 3).empty());
    CHECK(one.failure.text == "bad 1");
    CHECK(one.failure.type == "std::out_of_range");
    CHECK_THAT(one.failure.remedy, ContainsSubstring("shard 0"));
    CHECK(one.monitor.last == 1);
    CHECK(one.answer.outcome == stream_outcome::failed);
    CHECK(one.answer.end == lane_place{0, 2});
    CHECK(one.lane(0, 1, 3) == values{2, 3, 4});
    CHECK(one.source.open_now == 1);
}

TEST_CASE("A reader that stays on its bad sample is tried once more, then left", "[collate]") {
    process one(std::vector<std::uint64_t>(65, 4));
    one.source.moves_on = false;
    one.source.fails = [](std::uint64_t value) { return value == 1; };
    CHECK(one.lane(0, 0, 3).empty());
    CHECK(one.failure.text == "bad 1");
    CHECK(one.lane(0, 1, 3).empty());
    CHECK_THAT(one.failure.text,
               ContainsSubstring("bad 1; the rest of shard 0 is left out in this epoch: its reader "
                                 "stays at position 1"));
    CHECK(one.lane(0, 2, 3) == values{64000, 64001, 64002});
}

TEST_CASE("A failure that does not come again loses nothing of what follows", "[collate]") {
    process one({4});
    one.source.moves_on = false;
    one.source.fails = [tries = 0](std::uint64_t value) mutable {
        return value == 1 && tries++ == 0;
    };
    CHECK(one.lane(0, 0, 3).empty());
    CHECK(one.lane(0, 1, 3) == values{1, 2, 3});
}

TEST_CASE("A reader that cannot tell its position after a failure is left", "[collate]") {
    process one(std::vector<std::uint64_t>(65, 4));
    one.source.fails = [&](std::uint64_t value) {
        one.source.can_tell = value != 2;
        return value == 2;
    };
    CHECK(one.lane(0, 0, 3).empty());
    CHECK_THAT(one.failure.text, ContainsSubstring("bad 2; the rest of shard 0 is left out"));
    CHECK(one.lane(0, 1, 3) == values{64000, 64001, 64002});
}

TEST_CASE("A shard of nothing but failures is left after 100 of them", "[collate]") {
    process one(std::vector<std::uint64_t>(65, 2000));
    one.source.fails = [](std::uint64_t value) { return value < 1000; };
    for (std::uint64_t round = 0; round < 100; ++round) {
        CHECK(one.lane(0, round, 3).empty());
        CHECK((round == 99) ==
              (one.failure.text.find("100 samples in a row have failed") != std::string::npos));
    }
    CHECK(one.lane(0, 100, 2) == values{64000, 64001});
}

TEST_CASE("A shard that cannot be opened is named, and the lane goes on with the next",
          "[collate]") {
    process one(std::vector<std::uint64_t>(129, 2));
    one.source.unopened = 64;
    CHECK(one.lane(0, 0, 3).empty());
    CHECK_THAT(one.failure.text,
               ContainsSubstring("opening shard 64, position 0 of the stream: no such file; the "
                                 "rest of shard 64 is left out in this epoch"));
    CHECK(one.failure.type == "std::invalid_argument");
    CHECK(one.lane(0, 1, 2) == values{128000, 128001});
}

TEST_CASE("A lane goes on in another process where main says", "[collate]") {
    process first({10});
    CHECK(first.lane(0, 0, 3) == values{0, 1, 2});
    process second({10});
    CHECK(second.lane(0, 1, 3, first.answer.end) == values{3, 4, 5});
    CHECK(first.lane(0, 1, 3, first.answer.end) == values{3, 4, 5});
    CHECK(first.source.opened.size() == 1);  // its reader was there already

    process third({10});
    CHECK(third.lane(0, 1, 3).empty());
    CHECK(third.failure.code == stoker::errc::protocol);
    CHECK_FALSE(third.answered);
}

TEST_CASE("Another pass begins all lanes anew, and leaves no reader of the one before",
          "[collate]") {
    process one({9, 9, 9});
    CHECK(one.lane(0, 0, 2) == values{0, 1});
    CHECK(one.lane(1, 0, 2) == values{1000, 1001});
    CHECK(one.source.open_now == 2);
    ++one.pass;
    CHECK(one.lane(2, 0, 2) == values{2000, 2001});
    CHECK(one.source.open_now == 1);
    CHECK(one.lane(0, 0, 2) == values{0, 1});
}

TEST_CASE("Reading stops between samples when the epoch is given up", "[collate]") {
    process one({9});
    one.source.fails = [&](std::uint64_t value) {
        one.monitor.gone = value == 2;
        return false;
    };
    one.lane(0, 0, 9);
    CHECK(one.source.opened.size() == 1);
    CHECK(one.monitor.last == 2);
}
