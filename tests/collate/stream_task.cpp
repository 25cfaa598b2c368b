#include <cstdint>
#include <limits>
#include <stoker/collate/stream_task.hpp>
#include <stoker/core/error.hpp>
#include <vector>

#include "support/catch.hpp"

using namespace stoker::detail;
using words = std::vector<std::uint64_t>;

TEST_CASE("A request comes out of its words as it went in", "[collate]") {
    stream_request sent;
    sent.pass = 5;
    sent.shards = 100;
    sent.lanes = 64;
    sent.lane = 3;
    sent.round = 17;
    sent.wanted = 32;
    sent.shuffle = true;
    sent.start = lane_place{2, 4711};
    words memory(stream_words(32, 100));
    stream_request got;
    got.segments = {{9, 9, 9, 9}};  // of a request before
    write_request(sent, memory);
    read_request(memory, got);
    CHECK(got.pass == 5);
    CHECK(got.shards == 100);
    CHECK(got.lanes == 64);
    CHECK(got.lane == 3);
    CHECK(got.round == 17);
    CHECK(got.wanted == 32);
    CHECK(got.shuffle);
    CHECK_FALSE(got.keep_short);
    CHECK_FALSE(got.again);
    CHECK(got.start == lane_place{2, 4711});
    CHECK(got.segments.empty());

    sent.start.reset();
    sent.shuffle = false;
    sent.keep_short = sent.again = true;
    sent.segments = {{1, 2, 3, 4}, {5, 6, 7, 8}};
    write_request(sent, memory);
    read_request(memory, got);
    CHECK_FALSE(got.start);
    CHECK_FALSE(got.shuffle);
    CHECK(got.keep_short);
    CHECK(got.again);
    CHECK(got.segments == sent.segments);
}

TEST_CASE("An answer comes out of its words as it went in", "[collate]") {
    stream_answer sent;
    sent.pass = 5;
    sent.lane = 3;
    sent.round = 17;
    sent.outcome = stream_outcome::ended;
    sent.count = 11;
    sent.end = {3, 99};
    sent.segments = {{1, 2, 0, 4}, {5, 6, 0, 7}};
    words memory(stream_words(32, 2));
    write_answer(sent, memory);
    stream_answer got;
    REQUIRE(read_answer(memory, got));
    CHECK(got.pass == 5);
    CHECK(got.lane == 3);
    CHECK(got.round == 17);
    CHECK(got.outcome == stream_outcome::ended);
    CHECK(got.count == 11);
    CHECK(got.end == lane_place{3, 99});
    CHECK(got.segments == sent.segments);
}

TEST_CASE("There is room for as many segments as a batch can have", "[collate]") {
    stream_answer sent;
    for (std::uint64_t i = 0; i < 8; ++i)
        sent.segments.push_back({i, 0, 0, 1});
    words memory(stream_words(8, 1000));
    write_answer(sent, memory);
    stream_answer got;
    REQUIRE(read_answer(memory, got));
    CHECK(got.segments.size() == 8);
    CHECK(stream_words(1000, 8) == memory.size());
}

TEST_CASE("Words that are no answer, or no request, are told", "[collate]") {
    words memory(stream_words(4, 4));
    stream_answer answer;
    CHECK_FALSE(read_answer(memory, answer));
    write_request({}, memory);
    CHECK_FALSE(read_answer(memory, answer));  // a worker that left without an answer
    write_answer({}, memory);
    stream_request request;
    CHECK_THROWS_AS(read_request(memory, request), stoker::error);
    CHECK(read_answer(memory, answer));
    for (const std::uint64_t count :
         {std::uint64_t{5}, std::numeric_limits<std::uint64_t>::max()}) {
        words damaged = memory;
        damaged[8] = count;  // segments
        CHECK_FALSE(read_answer(damaged, answer));
    }
    words unknown = memory;
    unknown[4] = 3;  // outcome
    CHECK_FALSE(read_answer(unknown, answer));
    CHECK_FALSE(read_answer(std::span(memory).first(5), answer));
    CHECK_THROWS_AS(read_request(std::span(memory).first(5), request), stoker::error);
}
