#include <array>
#include <cstdint>
#include <stoker/collate/collation.hpp>
#include <stoker/tensor/bf16.hpp>
#include <stoker/tensor/f16.hpp>
#include <string>
#include <vector>

#include "support/catch.hpp"

namespace {

using stoker::dtype;
using stoker::dynamic;
using stoker::tensor;
using stoker::detail::collation;
using stoker::detail::column;
using stoker::detail::schema_of;
using stoker::detail::unknown_extent;

enum class kind : std::int16_t { cat, dog };
struct point {
    float x;
    tensor<stoker::f16, 2> rest;
};
struct box {
    point corner;
    std::array<std::array<stoker::bf16, 3>, 2> frame;
};
struct everything {
    bool flag;
    kind what;
    box nested;
    tensor<std::uint8_t, 8, 8> pixels;
    std::array<tensor<double, 2>, 4> tensors;
    tensor<std::int64_t, dynamic, 3> points;
};
struct only_fixed {
    bool flag;
    box nested;
};

static_assert(collation<everything>::column_count == 8);
static_assert(!collation<everything>::fixed);
static_assert(collation<only_fixed>::fixed);
static_assert(collation<int>::fixed && !collation<tensor<int, dynamic>>::fixed);

struct expected_column {
    const char* name;
    dtype type;
    std::uint64_t bytes;
    std::vector<std::uint64_t> extents;
};

void check_columns(const std::vector<column>& found, const std::vector<expected_column>& expected) {
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
        INFO(expected[i].name);
        CHECK(found[i].name == expected[i].name);
        CHECK(found[i].type == expected[i].type);
        CHECK(found[i].element_bytes == expected[i].bytes);
        CHECK(found[i].extents == expected[i].extents);
    }
}

}  // namespace

TEST_CASE("A sample type is described by its leaves, nested ones as outer.inner", "[collate]") {
    check_columns(schema_of<everything>().columns,
                  {{"flag", dtype::bool_, 1, {}},
                   {"what", dtype::i16, 2, {}},
                   {"nested.corner.x", dtype::f32, 4, {}},
                   {"nested.corner.rest", dtype::f16, 2, {2}},
                   {"nested.frame", dtype::bf16, 2, {2, 3}},
                   {"pixels", dtype::u8, 1, {8, 8}},
                   {"tensors", dtype::f64, 8, {4, 2}},
                   {"points", dtype::i64, 8, {unknown_extent, 3}}});
}

TEST_CASE("A sample that is no struct is one column named value", "[collate]") {
    check_columns(schema_of<float>().columns, {{"value", dtype::f32, 4, {}}});
    check_columns(schema_of<kind>().columns, {{"value", dtype::i16, 2, {}}});
    check_columns(schema_of<std::array<int, 3>>().columns, {{"value", dtype::i32, 4, {3}}});
    check_columns(schema_of<tensor<bool, 2, dynamic>>().columns,
                  {{"value", dtype::bool_, 1, {2, unknown_extent}}});
}

TEST_CASE("A struct that is local to a function is described like any other", "[collate]") {
    struct local {
        std::int32_t token;
        tensor<float, 5> weights;
    };
    check_columns(schema_of<local>().columns,
                  {{"token", dtype::i32, 4, {}}, {"weights", dtype::f32, 4, {5}}});
}
