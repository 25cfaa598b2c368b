#include <cstdint>
#include <numeric>
#include <set>
#include <vector>

#include "sampler/shard_order.hpp"
#include "support/catch.hpp"

using stoker::detail::lanes_of;
using stoker::detail::shard_order;

namespace {

std::vector<std::uint64_t> shards_of(const shard_order& order, std::uint64_t lane) {
    std::vector<std::uint64_t> shards;
    for (std::uint64_t i = 0; i < order.count(lane); ++i)
        shards.push_back(order.shard(lane, i));
    return shards;
}

}  // namespace

TEST_CASE("There are as many lanes as shards, and never more than 64", "[sampler]") {
    CHECK(lanes_of(0) == 0);
    CHECK(lanes_of(1) == 1);
    CHECK(lanes_of(64) == 64);
    CHECK(lanes_of(1000) == 64);
}

TEST_CASE("Lanes have every shard once between them, shuffled or not", "[sampler]") {
    for (const std::uint64_t shards : {0U, 1U, 2U, 63U, 64U, 65U, 129U, 1000U}) {
        for (const bool shuffle : {false, true}) {
            const shard_order order(shards, shuffle, 7, 3);
            std::multiset<std::uint64_t> all;
            for (std::uint64_t lane = 0; lane < lanes_of(shards); ++lane) {
                for (const std::uint64_t shard : shards_of(order, lane))
                    all.insert(shard);
            }
            std::vector<std::uint64_t> expected(shards);
            std::iota(expected.begin(), expected.end(), 0U);
            CHECK(std::vector(all.begin(), all.end()) == expected);
            CHECK(order.count(lanes_of(shards)) == 0);
        }
    }
}

TEST_CASE("A lane has every 64th shard, in order", "[sampler]") {
    const shard_order order(130, false, 0, 0);
    CHECK(shards_of(order, 0) == std::vector<std::uint64_t>{0, 64, 128});
    CHECK(shards_of(order, 2) == std::vector<std::uint64_t>{2, 66});
}

TEST_CASE("Seed and epoch decide the order of shards", "[sampler]") {
    const auto first_lane = [](std::uint64_t seed, std::uint64_t epoch) {
        return shards_of(shard_order(1000, true, seed, epoch), 0);
    };
    CHECK(first_lane(1, 0) == first_lane(1, 0));
    CHECK(first_lane(1, 0) != first_lane(1, 1));
    CHECK(first_lane(1, 0) != first_lane(2, 0));
}
