#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <stoker/collate/column_access.hpp>
#include <stoker/dataset/map.hpp>
#include <string>
#include <vector>

#include "collate/support.hpp"
#include "support/catch.hpp"

namespace {

using stoker::dynamic;
using stoker::ragged;
using stoker::ragged_view;
using stoker::tensor_view;
using stoker::test_support::test_batch;
using numbers = std::vector<std::int64_t>;

struct scene {
    ragged<float> weights;
    std::int32_t label;
    ragged<std::array<std::int16_t, 2>> edges;
};

auto three_scenes() {
    return test_batch(
        std::vector<scene>{{{1, 2}, 10, {}}, {{}, 20, {{1, 2}}}, {{3}, 30, {{3, 4}, {5, 6}}}});
}

}  // namespace

TEST_CASE("Ragged lists lie one after the other, divided by offsets", "[collate]") {
    auto batch = three_scenes();
    batch.fetch({2, 1, 0});
    const auto weights = batch[&scene::weights];
    static_assert(std::same_as<decltype(weights), const ragged_view<float>>);
    CHECK(weights.size() == 3);
    CHECK(std::ranges::equal(weights.offsets(), numbers{0, 1, 1, 3}));
    CHECK(std::ranges::equal(weights.values(), std::vector<float>{3, 1, 2}));
    CHECK(weights[2].size() == 2);
    CHECK(weights[2][1] == 2);
    CHECK(weights[1].empty());
    CHECK(batch[&scene::label][0] == 30);
    std::vector<std::size_t> lengths;
    for (const auto each : weights)
        lengths.push_back(each.size());
    CHECK(lengths == std::vector<std::size_t>{1, 0, 2});
}

TEST_CASE("Values of arrays keep their axes", "[collate]") {
    auto batch = three_scenes();
    batch.fetch({0, 1, 2});
    const auto edges = batch[&scene::edges];
    static_assert(std::same_as<decltype(edges), const ragged_view<std::int16_t, 2>>);
    CHECK(edges.values().shape() == std::array<std::size_t, 2>{3, 2});
    CHECK(edges[0].extent(0) == 0);
    CHECK(edges[2](1, 1) == 6);
    const auto values = batch.named("edges").as<tensor_view<const std::int16_t, dynamic, 2>>();
    CHECK(values(0, 1) == 2);
}

TEST_CASE("Lists of unequal length are kept whole, in both orders [B074]", "[collate]") {
    test_batch batch(std::vector<ragged<int>>{{1}, {2, 3}});
    batch.fetch({0, 1});
    auto [forward] = batch.columns();
    CHECK(std::ranges::equal(forward.values(), std::vector<int>{1, 2, 3}));
    CHECK(std::ranges::equal(forward.offsets(), numbers{0, 1, 3}));
    batch.fetch({1, 0});
    auto [backward] = batch.columns();
    CHECK(std::ranges::equal(backward.values(), std::vector<int>{2, 3, 1}));
    CHECK(std::ranges::equal(backward.offsets(), numbers{0, 2, 3}));
}

TEST_CASE("A batch of empty lists has no values and offsets of 0", "[collate]") {
    test_batch batch(std::vector<ragged<int>>{{}, {}, {4}});
    batch.fetch({0, 1});
    const auto [none] = batch.columns();
    CHECK(none.values().empty());
    CHECK(std::ranges::equal(none.offsets(), numbers{0, 0, 0}));
    CHECK(none[1].empty());
    batch.fetch({});
    const auto [nothing] = batch.columns();
    CHECK(nothing.size() == 0);
    CHECK(std::ranges::equal(nothing.offsets(), numbers{0}));
    batch.fetch({2});
    CHECK(std::get<0>(batch.columns())[0][0] == 4);
    CHECK(ragged_view<int>().values().empty());
}

TEST_CASE("Values and offsets are columns of their own, by name", "[collate]") {
    auto batch = three_scenes();
    batch.fetch({0, 1, 2});
    const auto values = batch.named("weights").as<tensor_view<const float, dynamic>>();
    CHECK(values.extent(0) == 3);
    const auto offsets =
        batch.named("weights.offsets").as<tensor_view<const std::int64_t, dynamic>>();
    CHECK(offsets.extent(0) == 4);
    CHECK(offsets[3] == 3);
    std::vector<std::string> names;
    for (const auto& each : batch.fetcher().columns().columns)
        names.push_back(each.name);
    CHECK(names == std::vector<std::string>{"weights", "weights.offsets", "label", "edges",
                                            "edges.offsets"});
}
