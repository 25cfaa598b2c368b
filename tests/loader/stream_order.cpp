// The order alone, against a model that knows all shards beforehand: workers are played by a loop
// that answers as late, and main by one that asks as far ahead, as the dice say.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include <stoker/dataset/random.hpp>
#include "loader/stream_order.hpp"
#include "sampler/shard_order.hpp"
#include "support/catch.hpp"

using namespace stoker::detail;
using sample = std::pair<std::uint64_t, std::uint64_t>;  // shard, number in it
using batches = std::vector<std::vector<sample>>;

namespace {

struct setting {
    std::vector<std::uint64_t> sizes;  // of shards
    std::uint64_t batch_size = 1;
    bool drop_last = false;
};

std::vector<std::vector<sample>> lanes_with(const setting& all) {
    const std::uint64_t lanes = lanes_of(all.sizes.size());
    std::vector<std::vector<sample>> samples(lanes);
    for (std::uint64_t shard = 0; shard < all.sizes.size(); ++shard) {
        for (std::uint64_t i = 0; i < all.sizes[shard]; ++i)
            samples[shard % lanes].emplace_back(shard, i);
    }
    return samples;
}

/// What the rules say, of shards that are known.
batches expected_batches(const setting& all) {
    auto lanes = lanes_with(all);
    batches expected;
    std::vector<sample> rest;
    for (bool any = true; any;) {
        any = false;
        for (auto& lane : lanes) {
            if (lane.size() < all.batch_size)
                continue;
            const auto end = lane.begin() + static_cast<std::ptrdiff_t>(all.batch_size);
            expected.emplace_back(lane.begin(), end);
            lane.erase(lane.begin(), end);
            any = true;
        }
    }
    for (const auto& lane : lanes)
        rest.insert(rest.end(), lane.begin(), lane.end());
    while (!rest.empty() && !(all.drop_last && rest.size() < all.batch_size)) {
        const auto size = std::min<std::uint64_t>(all.batch_size, rest.size());
        const auto end = rest.begin() + static_cast<std::ptrdiff_t>(size);
        expected.emplace_back(rest.begin(), end);
        rest.erase(rest.begin(), end);
    }
    return expected;
}

/// Reads lanes as `stream_lanes` does. A position is the number of a sample in its shard.
class played_workers {
  public:
    explicit played_workers(const setting& all) : lanes_(lanes_with(all)), next_(lanes_.size()) {}

    std::pair<stream_answer, std::vector<sample>> answer(const stream_request& request) {
        stream_answer answer;
        answer.pass = request.pass;
        answer.lane = request.lane;
        answer.round = request.round;
        std::vector<sample> read;
        if (request.again) {
            for (const stream_segment& each : request.segments) {
                for (std::uint64_t i = 0; i < each.count; ++i)
                    read.emplace_back(each.shard, each.position + each.skip + i);
            }
            answer.outcome = stream_outcome::batch;
            answer.count = read.size();
            return {answer, read};
        }
        const auto& lane = lanes_[request.lane];
        std::size_t& next = next_[request.lane];
        if (next == lost)
            REQUIRE(request.start);  // nobody else can tell
        if (request.start && next == lost)
            next = request.start->ordinal == 0 ? 0 : request.start->position;
        if (request.start)
            CHECK(*request.start == place_of(next));
        while (read.size() < request.wanted && next < lane.size())
            read.push_back(lane[next++]);
        answer.count = read.size();
        answer.end = place_of(next);
        if (read.size() == request.wanted || (request.keep_short && !read.empty())) {
            answer.outcome = stream_outcome::batch;
            return {answer, read};
        }
        answer.outcome = stream_outcome::ended;
        for (const sample& each : read) {
            if (answer.segments.empty() || answer.segments.back().shard != each.first)
                answer.segments.push_back({each.first, each.second, 0, 0});
            ++answer.segments.back().count;
        }
        return {answer, {}};
    }

    void die(std::uint64_t worker, std::uint64_t workers) {
        for (std::uint64_t lane = worker; lane < next_.size(); lane += workers)
            next_[lane] = lost;
    }

  private:
    static constexpr std::size_t lost = ~std::size_t{0};

    /// Any number that tells two places of a lane apart will do.
    static lane_place place_of(std::size_t next) {
        return next == 0 ? lane_place{} : lane_place{1, next};
    }

    std::vector<std::vector<sample>> lanes_;
    std::vector<std::size_t> next_;
};

struct asked {
    stream_ticket ticket;
    stream_request request;
    std::uint64_t worker = 0;
    bool settled = false;
    bool delivered = false;
    std::vector<sample> samples{};
    std::vector<std::uint64_t> positions{};
};

/// Plays an epoch; what was delivered, in the order of tasks.
std::vector<asked> play(stream_order& order, const setting& all, std::uint64_t workers,
                        std::uint64_t window, stoker::random& dice, double deaths = 0) {
    played_workers played(all);
    std::deque<asked> tasks;
    order.begin();
    for (;;) {
        const auto open = std::count_if(tasks.begin(), tasks.end(),
                                        [](const asked& each) { return !each.settled; });
        const auto step = order.next();
        if (step == stream_order::step::end)
            break;
        if (step == stream_order::step::read && open < static_cast<std::ptrdiff_t>(window) &&
            (open == 0 || dice.coin(0.7))) {
            asked& one = tasks.emplace_back();
            const auto lane = order.next_lane();
            one.worker = lane ? *lane % workers : dice.integer(std::uint64_t{0}, workers);
            one.ticket = order.issue(one.request);
            continue;
        }
        REQUIRE(open > 0);  // nothing to wait for would be a standstill
        if (dice.coin(deaths)) {
            const auto victim = dice.integer(std::uint64_t{0}, workers);
            played.die(victim, workers);
            for (asked& each : tasks) {
                if (!each.settled && each.worker == victim)
                    each.request.start = order.start_of(each.ticket);
            }
        }
        // The oldest open task of any worker.
        std::vector<asked*> candidates;
        std::vector<bool> seen(workers);
        for (asked& each : tasks) {
            if (!each.settled && !seen[each.worker]) {
                seen[each.worker] = true;
                candidates.push_back(&each);
            }
        }
        asked& one = *candidates[dice.integer(std::size_t{0}, candidates.size())];
        const auto [answer, samples] = played.answer(one.request);
        const auto settled = order.settle(one.ticket, false, &answer);
        one.settled = true;
        REQUIRE(settled.what != stream_order::verdict::broken);
        if (settled.what == stream_order::verdict::deliver) {
            CHECK(settled.samples == samples.size());
            one.delivered = true;
            one.samples = samples;
            for (std::uint64_t i = 0; i < settled.samples; ++i)
                one.positions.push_back(one.ticket.first_position + i);
        }
    }
    std::erase_if(tasks, [](const asked& each) { return !each.delivered; });
    return {tasks.begin(), tasks.end()};
}

setting random_setting(stoker::random& dice) {
    setting all;
    const std::size_t counts[] = {0, 1, 2, 3, 7, 63, 64, 65, 150};
    all.sizes.resize(counts[dice.integer(0, 9)]);
    const std::uint64_t largest = dice.coin() ? 4 : 40;
    for (auto& size : all.sizes)
        size = dice.coin(0.2) ? 0 : dice.integer(std::uint64_t{0}, largest);
    all.batch_size = dice.integer(std::uint64_t{1}, std::uint64_t{12});
    all.drop_last = dice.coin();
    return all;
}

stream_order make_order(const setting& all) {
    std::uint64_t samples = 0;
    for (const std::uint64_t size : all.sizes)
        samples += size;
    return stream_order({{all.sizes.size(), samples}, all.batch_size, false, all.drop_last});
}

}  // namespace

TEST_CASE("Batches are the model's, however far ahead, by whichever workers, whoever dies",
          "[loader]") {
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
        CAPTURE(seed);
        stoker::random dice(seed);
        const setting all = random_setting(dice);
        const batches expected = expected_batches(all);
        stream_order order = make_order(all);
        CHECK(order.length() == expected.size());
        std::vector<std::uint64_t> first_positions;
        for (int epoch = 0; epoch < 3; ++epoch) {
            const auto workers = dice.integer(std::uint64_t{1}, std::uint64_t{9});
            const auto window = dice.integer(std::uint64_t{1}, std::uint64_t{20});
            const double deaths = epoch == 2 ? 0.05 : 0;
            const auto found = play(order, all, workers, window, dice, deaths);
            batches delivered;
            std::vector<std::uint64_t> positions;
            for (const asked& each : found) {
                delivered.push_back(each.samples);
                positions.insert(positions.end(), each.positions.begin(), each.positions.end());
            }
            REQUIRE(delivered == expected);
            if (epoch == 0)
                first_positions = positions;
            REQUIRE(positions == first_positions);
            CHECK(order.any() == !expected.empty());
            std::sort(positions.begin(), positions.end());
            CHECK(std::adjacent_find(positions.begin(), positions.end()) == positions.end());
        }
    }
}

TEST_CASE("Requests never name more shards than there is room for", "[loader]") {
    for (std::uint64_t seed = 1000; seed < 1100; ++seed) {
        stoker::random dice(seed);
        const setting all = random_setting(dice);
        stream_order order = make_order(all);
        for (const asked& each : play(order, all, 3, 8, dice)) {
            std::vector<std::uint64_t> words(stream_words(all.batch_size, all.sizes.size()));
            stream_request read;
            write_request(each.request, words);
            read_request(words, read);
            CHECK(read.segments == each.request.segments);
        }
    }
}

TEST_CASE("Only the last short batch of all lanes is dropped [B060]", "[loader]") {
    const auto counts = [](const setting& all) {
        std::vector<std::size_t> sizes;
        stoker::random dice(1);
        stream_order order = make_order(all);
        for (const asked& each : play(order, all, 4, 8, dice))
            sizes.push_back(each.samples.size());
        return sizes;
    };
    CHECK(counts({std::vector<std::uint64_t>(10, 100), 128, true}) ==
          std::vector<std::size_t>(7, 128));
    CHECK(counts({std::vector<std::uint64_t>(10, 100), 128, false}) ==
          std::vector<std::size_t>{128, 128, 128, 128, 128, 128, 128, 104});
    CHECK(counts({{16, 15, 15}, 8, true}) == std::vector<std::size_t>(5, 8));
    CHECK(counts({{5}, 8, true}).empty());
    CHECK(counts({{5}, 8, false}) == std::vector<std::size_t>{5});
}

TEST_CASE("A failed batch leaves the lane where its answer says", "[loader]") {
    stream_order order({{2, std::nullopt}, 4, false, false});
    order.begin();
    CHECK_FALSE(order.length());
    stream_request request;
    const stream_ticket first = order.issue(request);
    CHECK(request.start == lane_place{});
    stream_answer answer;
    answer.pass = request.pass;
    answer.outcome = stream_outcome::failed;
    answer.end = {0, 77};
    CHECK(order.settle(first, true, &answer).what == stream_order::verdict::deliver);
    order.issue(request);  // of the other lane
    order.issue(request);
    CHECK(request.lane == 0);
    CHECK(request.start == lane_place{0, 77});
}

TEST_CASE("A task that will not be done leaves its shard, and the next task begins behind it",
          "[loader]") {
    stream_order order({{3, std::nullopt}, 4, false, false});
    order.begin();
    stream_request request;
    const stream_ticket first = order.issue(request);
    const stream_ticket other = order.issue(request);
    order.issue(request);
    const stream_ticket second = order.issue(request);
    CHECK(order.start_of(first) == lane_place{});
    CHECK_FALSE(order.start_of(second));
    CHECK(order.leave_shard(first) == 0U);
    CHECK(order.start_of(second) == lane_place{1, 0});
    CHECK(order.start_of(other) == lane_place{});
    CHECK(order.any());
}

TEST_CASE("A lane of which nothing is known any more ends, with one failure", "[loader]") {
    stream_order order({{1, std::nullopt}, 4, false, false});
    order.begin();
    stream_request request;
    const stream_ticket first = order.issue(request);
    const stream_ticket second = order.issue(request);
    CHECK(order.settle(first, true, nullptr).what == stream_order::verdict::deliver);
    CHECK(order.next() == stream_order::step::wait);
    CHECK(order.settle(second, true, nullptr).what == stream_order::verdict::skip);
    CHECK(order.next() == stream_order::step::end);
}

TEST_CASE("Answers that fit no request are refused, and end the lane", "[loader]") {
    const auto verdict = [](auto&& damage, bool again = false) {
        stream_order order({{2, std::nullopt}, 4, false, false});
        order.begin();
        stream_request request;
        stream_ticket ticket = order.issue(request);
        const stream_ticket other = order.issue(request);
        stream_answer answer;
        answer.pass = request.pass;
        answer.outcome = stream_outcome::ended;
        answer.count = 3;
        answer.segments = {{1, 50, 0, 2}, {0, 5, 0, 1}};
        if (again) {
            CHECK(order.settle(ticket, false, &answer).what == stream_order::verdict::skip);
            answer.lane = 1;
            CHECK(order.settle(other, false, &answer).what == stream_order::verdict::skip);
            ticket = order.issue(request);
            CHECK(ticket.wanted == 4);
            answer.lane = request.lane;
            answer.round = request.round;
            answer.outcome = stream_outcome::batch;
            answer.count = 4;
            answer.segments.clear();
        }
        damage(answer);
        const auto settled = order.settle(ticket, false, &answer);
        return settled.what == stream_order::verdict::broken;
    };
    using answer = stream_answer&;
    CHECK_FALSE(verdict([](answer) {}));
    CHECK(verdict([](answer a) { a.pass += 1; }));
    CHECK(verdict([](answer a) { a.lane = 1; }));
    CHECK(verdict([](answer a) { a.round = 1; }));
    CHECK(verdict([](answer a) { a.count = 2; }));
    CHECK(verdict([](answer a) { a.count = 5; }));
    CHECK(verdict([](answer a) { a.outcome = stream_outcome::failed; }));
    CHECK(verdict([](answer a) { a.outcome = stream_outcome::batch; }));  // three of four
    CHECK(verdict([](answer a) { a.segments[0].shard = 2; }));
    CHECK(verdict([](answer a) { a.segments[0].skip = 1; }));
    CHECK(verdict([](answer a) { a.segments[0].count = ~std::uint64_t{0}; }));
    CHECK(verdict([](answer a) { a.segments[1].count = 0; }));
    CHECK(verdict([](answer a) { a.segments.pop_back(); }));
    CHECK_FALSE(verdict([](answer) {}, true));
    CHECK(verdict([](answer a) { a.count = 3; }, true));
    CHECK(verdict([](answer a) { a.outcome = stream_outcome::ended; }, true));
}

TEST_CASE("A stream without shards ends at once, in each epoch", "[loader]") {
    stream_order order({{0, 0}, 4, false, false});
    for (int epoch = 0; epoch < 2; ++epoch) {
        order.begin();
        CHECK(order.next() == stream_order::step::end);
        CHECK_FALSE(order.any());
    }
    CHECK(order.length() == 0);
}
