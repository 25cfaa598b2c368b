#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <optional>
#include <stoker/collate/column_access.hpp>
#include <stoker/core/error.hpp>
#include <string>
#include <vector>

#include "collate/support.hpp"
#include "support/catch.hpp"

namespace {

using stoker::dynamic;
using stoker::padded;
using stoker::ragged;
using stoker::tensor;
using stoker::tensor_view;
using stoker::detail::collation;
using stoker::test_support::test_batch;

struct point {
    float x;
    std::int32_t label;
};
struct photo {
    std::optional<tensor<std::uint8_t, 2>> mask;
    std::int64_t id;
    std::optional<point> centre;
};
struct text {
    std::optional<padded<std::int32_t, -1>> tokens;
    std::optional<ragged<float>> weights;
    std::optional<std::string> title;
    std::optional<tensor<float, dynamic, 2>> spans;
    std::int32_t id;
};

static_assert(collation<photo>::fixed, "a row for every sample, whether it has a value or not");
static_assert(!collation<text>::fixed);

auto photos() {
    return test_batch(std::vector<photo>{{tensor<std::uint8_t, 2>{1, 2}, 10, point{1, 2}},
                                         {std::nullopt, 20, std::nullopt},
                                         {tensor<std::uint8_t, 2>{5, 6}, 30, std::nullopt}});
}
text full(std::int32_t id) {
    text made{};
    made.tokens = {id, id};
    made.weights = {0.5f};
    made.title = "t" + std::to_string(id);
    made.spans.emplace(3);
    made.spans->fill(static_cast<float>(id));
    made.id = id;
    return made;
}
auto texts() {
    return test_batch(
        std::vector<text>{full(0), {{}, {}, {}, {}, 1}, full(2), {{}, {}, {}, {}, 3}});
}

}  // namespace

TEST_CASE("Rows of absent members keep their place, in any order [B073]", "[collate]") {
    auto batch = photos();
    const std::vector<std::vector<stoker::index>> orders{{0, 1, 2}, {1, 2, 0}, {2, 0, 1}};
    for (const auto& order : orders) {
        batch.memory.fill();
        batch.fetch(order);
        const auto mask = batch[&photo::mask];
        const auto centre = batch[&photo::centre];
        CHECK(mask.size() == 3);
        CHECK(mask.values().shape() == std::array<std::size_t, 2>{3, 2});
        for (std::size_t i = 0; i < 3; ++i) {
            const bool present = order[i] != 1;
            CHECK(mask.has_value(i) == present);
            CHECK(mask.values()(i, 0) == (present ? 2 * order[i] + 1 : 0));
            CHECK(mask.values()(i, 1) == (present ? 2 * order[i] + 2 : 0));
            CHECK(batch[&photo::id][i] == static_cast<std::int64_t>(10 * order[i] + 10));
            CHECK(centre.has_value(i) == (order[i] == 0));
            CHECK(centre.values()[&point::label][i] == (order[i] == 0 ? 2 : 0));
        }
    }
}

TEST_CASE("Absent lists and strings are empty, and told from empty ones [B073]", "[collate]") {
    auto batch = texts();
    batch.fetch({1, 2, 3, 0});
    CHECK_FALSE(batch[&text::tokens].has_value(0));
    CHECK(batch[&text::tokens].has_value(1));
    const auto tokens = batch[&text::tokens].values();
    CHECK(tokens.shape() == std::array<std::size_t, 2>{4, 2});
    CHECK(tokens(0, 0) == -1);
    CHECK(tokens(1, 1) == 2);
    CHECK(tokens[2].empty());
    const auto weights = batch[&text::weights].values();
    CHECK(weights[0].empty());
    CHECK(weights[1][0] == 0.5f);
    CHECK(weights[3].size() == 1);
    const auto title = batch[&text::title];
    CHECK(title.values()[1] == "t2");
    CHECK(title.values()[2].empty());
    CHECK(title.values()[3] == "t0");
    CHECK(title.present()[3]);
    const auto spans = batch[&text::spans].values();
    CHECK(spans.shape() == std::array<std::size_t, 3>{4, 3, 2});
    CHECK(spans(0, 2, 1) == 0);
    CHECK(spans(1, 2, 1) == 2);
    CHECK(spans(2, 0, 0) == 0);
}

TEST_CASE("Where no sample has a member, run-time extents are 0 [B073]", "[collate]") {
    auto batch = texts();
    batch.fetch({1, 3});
    CHECK(batch[&text::spans].values().shape() == std::array<std::size_t, 3>{2, 0, 2});
    CHECK(batch[&text::tokens].values().shape() == std::array<std::size_t, 2>{2, 0});
    CHECK(batch[&text::weights].values().values().empty());
    CHECK_FALSE(batch[&text::title].has_value(1));
    CHECK(batch[&text::id][1] == 3);
    batch.fetch({});
    CHECK(batch[&text::spans].size() == 0);
}

TEST_CASE("Samples that have a tensor must agree in its shape", "[collate]") {
    std::vector<text> two{full(0), full(1), full(2)};
    two[1].spans.reset();
    two[2].spans.emplace(4);
    test_batch batch(std::move(two));
    try {
        batch.fetch({0, 1, 2});
        FAIL("was collated");
    } catch (const stoker::error& error) {
        CHECK(error.text() ==
              "field 'spans' of sample 2 has shape [4, 2], that of sample 0, in the same batch, "
              "[3, 2]");
    }
}

TEST_CASE("Presence is a column of its own, by name", "[collate]") {
    auto batch = texts();
    batch.fetch({0, 1});
    std::vector<std::string> names;
    for (const auto& each : batch.fetcher().columns().columns)
        names.push_back(each.name);
    CHECK(names == std::vector<std::string>{"tokens", "tokens.lengths", "tokens.present", "weights",
                                            "weights.offsets", "weights.present", "title",
                                            "title.offsets", "title.present", "spans",
                                            "spans.present", "id"});
    const auto present = batch.named("title.present").as<tensor_view<const bool, dynamic>>();
    CHECK(present[0]);
    CHECK_FALSE(present[1]);
    auto points = photos();
    points.fetch({0, 1});
    CHECK(points.named("centre.x").extent(0) == 2);
    CHECK(points.named("centre.present").extent(0) == 2);
}
