#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <stoker/dataset/fields.hpp>
#include <stoker/dataset/padded.hpp>
#include <stoker/dataset/ragged.hpp>
#include <stoker/tensor/bf16.hpp>
#include <stoker/tensor/f16.hpp>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"

namespace {

using stoker::padded;
using stoker::ragged;
using stoker::tensor;

enum class kind : std::int16_t { none = 7, cat, dog };
struct box {
    float x, y;
    bool operator==(const box&) const = default;
};
struct scene {
    padded<std::int32_t, -100> tokens;
    ragged<float> weights;
    ragged<box> boxes;
    std::string path;
    std::optional<padded<bool>> flags;
    std::optional<tensor<float, 2>> mean;
};

static_assert(stoker::detail::field_count<scene> == 6);
static_assert(stoker::detail::field_name<scene, 0> == "tokens");
static_assert(stoker::detail::field_name<scene, 3> == "path");
static_assert(stoker::detail::field_name<scene, 5> == "mean");

static_assert(padded<std::int32_t, -100>::padding == -100);
static_assert(padded<std::uint8_t>::padding == 0);
static_assert(padded<std::uint8_t, 255>::padding == 255);
static_assert(padded<float, -1>::padding == -1.0f);
static_assert(padded<double, 0.5>::padding == 0.5);
static_assert(!padded<bool>::padding && padded<bool, true>::padding);
static_assert(padded<kind, kind::none>::padding == kind::none);
static_assert(padded<kind, 8>::padding == kind::cat);
static_assert(padded<stoker::f16, 2>::padding == 2.0f);
static_assert(padded<stoker::bf16, -1>::padding == -1.0f);
static_assert(padded<tensor<std::int16_t, 2>, 3>::padding == 3);

}  // namespace

TEST_CASE("a list of a sample is made from a vector, a span or a list", "[dataset]") {
    const scene made{{1, 2, 3}, {0.5f}, {{1, 2}, {3, 4}}, "a.png", std::nullopt, {}};
    CHECK(made.tokens.size() == 3);
    CHECK(made.tokens[2] == 3);
    CHECK(made.boxes[1].x == 3);
    const std::array<std::int32_t, 2> two{8, 9};
    const padded<std::int32_t> from_span{std::span<const std::int32_t>(two)};
    CHECK(from_span == padded<std::int32_t>{8, 9});
    std::vector<float> values{1, 2, 3};
    const float* const before = values.data();
    ragged<float> moved{std::move(values)};
    CHECK(moved.data() == before);
    scene assigned;
    assigned.tokens = {4, 5};
    assigned.weights = std::vector<float>{1, 2};
    CHECK(assigned.tokens.size() == 2);
    CHECK(assigned.weights[1] == 2);
}

TEST_CASE("a list of a sample grows like a vector", "[dataset]") {
    padded<std::int32_t, -1> list;
    CHECK(list.empty());
    list.reserve(4);
    list.push_back(1);
    list.resize(3);
    CHECK(std::vector<std::int32_t>(list.begin(), list.end()) ==
          std::vector<std::int32_t>{1, 0, 0});
    list[1] = 7;
    CHECK(list.data()[1] == 7);
    CHECK(list != padded<std::int32_t, -1>{1, 0, 0});
    list.clear();
    CHECK(list == padded<std::int32_t, -1>());
    CHECK(padded<std::int32_t>(5).size() == 5);
    CHECK(ragged<box>(2)[1] == box{0, 0});
    const std::vector<std::int32_t> source{3, 4, 5};
    list.assign(source.begin() + 1, source.end());
    CHECK(list[0] == 4);
}

TEST_CASE("bools of a list lie one after the other, unlike those of a vector", "[dataset]") {
    padded<bool> flags{std::vector<bool>{true, false, true}};
    flags.push_back(true);
    flags.resize(5);
    const bool* const all = flags.data();
    CHECK(std::vector<bool>(all, all + 5) == std::vector<bool>{true, false, true, true, false});
    flags[1] = true;
    CHECK(flags.begin()[1]);
    CHECK(ragged<bool>{true, false} == ragged<bool>{true, false});
}
