#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <stoker/collate/column_access.hpp>
#include <string>
#include <vector>

#include "collate/support.hpp"
#include "support/catch.hpp"

namespace {

using stoker::dynamic;
using stoker::ragged;
using stoker::ragged_struct_view;
using stoker::ragged_view;
using stoker::tensor;
using stoker::tensor_view;
using stoker::test_support::test_batch;
using numbers = std::vector<std::int64_t>;

struct corner {
    float x, y;
};
struct box {
    corner from;
    tensor<std::uint8_t, 2> colour;
    std::int32_t label;
};
struct scene {
    ragged<box> boxes;
    std::int64_t id;
};

auto three_scenes() {
    return test_batch(std::vector<scene>{{{{{1, 2}, {3, 4}, 5}, {{6, 7}, {8, 9}, 10}}, 100},
                                         {{}, 200},
                                         {{{{11, 12}, {13, 14}, 15}}, 300}});
}

}  // namespace

TEST_CASE("Members of ragged structs are columns that share their offsets", "[collate]") {
    auto batch = three_scenes();
    batch.fetch({0, 1, 2});
    const auto boxes = batch[&scene::boxes];
    CHECK(boxes.size() == 3);
    CHECK(std::ranges::equal(boxes.offsets(), numbers{0, 2, 2, 3}));
    CHECK(boxes.length(0) == 2);
    const auto label = boxes[&box::label];
    static_assert(std::same_as<decltype(label), const ragged_view<std::int32_t>>);
    CHECK(std::ranges::equal(label.values(), std::vector<std::int32_t>{5, 10, 15}));
    CHECK(label[0][1] == 10);
    CHECK(label[1].empty());
    CHECK(boxes[&box::colour][2](0, 1) == 14);
    const auto from = boxes[&box::from];
    static_assert(std::same_as<decltype(from), const ragged_struct_view<corner, std::byte>>);
    CHECK(from[&corner::y][0][1] == 7);
    CHECK(batch[&scene::id][2] == 300);
}

TEST_CASE("Ragged structs are had as views of all their members", "[collate]") {
    auto batch = three_scenes();
    batch.fetch({2, 0});
    const auto [from, colour, label] = batch[&scene::boxes].columns();
    const auto [x, y] = from.columns();
    CHECK(x[0][0] == 11);
    CHECK(y[1][1] == 7);
    CHECK(colour[1](1, 0) == 8);
    CHECK(label[1].size() == 2);
}

TEST_CASE("Columns of ragged structs have the names of the members", "[collate]") {
    auto batch = three_scenes();
    batch.fetch({0, 1, 2});
    std::vector<std::string> names;
    for (const auto& each : batch.fetcher().columns().columns)
        names.push_back(each.name);
    CHECK(names == std::vector<std::string>{"boxes.from.x", "boxes.from.y", "boxes.colour",
                                            "boxes.label", "boxes.offsets", "id"});
    CHECK(batch.named("boxes.colour").extent(0) == 3);
    CHECK(batch.named("boxes.offsets").as<tensor_view<const std::int64_t, dynamic>>()[3] == 3);
}

TEST_CASE("Ragged structs are a sample by themselves", "[collate]") {
    test_batch batch(std::vector<ragged<corner>>{{{1, 2}}, {}, {{3, 4}, {5, 6}}});
    batch.fetch({2, 1, 0});
    const auto [corners] = batch.columns();
    CHECK(corners[&corner::x][0][1] == 5);
    CHECK(corners[&corner::y][2][0] == 2);
    CHECK(batch.named("offsets").extent(0) == 4);
}
