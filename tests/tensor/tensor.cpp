#include <algorithm>
#include <cstdint>
#include <limits>
#include <new>
#include <numeric>
#include <stoker/core/error.hpp>
#include <stoker/tensor/f16.hpp>
#include <stoker/tensor/tensor.hpp>
#include <type_traits>
#include <utility>

#include "support/catch.hpp"

namespace {

using stoker::dynamic;
using stoker::tensor;

static_assert(std::is_trivially_copyable_v<tensor<float, 3, 4>>);
static_assert(sizeof(tensor<float, 3, 4>) == 48, "static extents cost nothing");
static_assert(sizeof(tensor<bool, 5>) == 5);
static_assert(std::is_nothrow_move_constructible_v<tensor<float, dynamic>>);
static_assert(std::is_nothrow_move_assignable_v<tensor<float, dynamic, 2>>);
static_assert(std::is_copy_constructible_v<tensor<float, dynamic>>);
static_assert(tensor<int, 2, 3>::rank() == 2);
static_assert(tensor<int, 2, 3>{1, 2, 3, 4, 5, 6}(1, 0) == 4);
static_assert(!std::is_constructible_v<tensor<float, 3>, int>, "no extents to choose");
static_assert(!std::is_invocable_v<tensor<float, 3, 4>, int>, "one index for each axis");

struct digit {
    tensor<std::uint8_t, 8, 8> pixels;
    std::int64_t label;
};

}  // namespace

TEST_CASE("A tensor begins as zeros, in an aggregate too", "[tensor]") {
    const digit sample{{}, 3};
    CHECK(std::all_of(sample.pixels.begin(), sample.pixels.end(), [](int p) { return p == 0; }));
    CHECK(sample.label == 3);
    const tensor<double, dynamic> on_heap(5);
    CHECK(std::all_of(on_heap.begin(), on_heap.end(), [](double d) { return d == 0; }));
}

TEST_CASE("Elements lie in row-major order", "[tensor]") {
    tensor<int, 2, 3, 4> numbers;
    std::iota(numbers.begin(), numbers.end(), 0);
    CHECK(numbers(0, 0, 3) == 3);
    CHECK(numbers(0, 1, 0) == 4);
    CHECK(numbers(1, 0, 0) == 12);
    CHECK(numbers(1, 2, 3) == 23);
    CHECK(&numbers(1, 2, 3) == numbers.data() + 23);
    CHECK(numbers.size() == 24);
    CHECK(numbers.extent(1) == 3);
    CHECK(numbers.shape() == std::array<std::size_t, 3>{2, 3, 4});
    numbers.fill(7);
    CHECK(numbers(1, 1, 1) == 7);
}

TEST_CASE("A tensor of one axis is indexed like an array", "[tensor]") {
    tensor<int, 3> fixed{1, 2, 3};
    fixed[1] = 7;
    CHECK(std::as_const(fixed)[1] == 7);
    tensor<float, dynamic> sized(4);
    sized[3] = 2.5F;
    CHECK(sized(3) == 2.5F);
}

TEST_CASE("A list sets the first elements, and may not have too many", "[tensor]") {
    const tensor<int, 2, 2> some{1, 2, 3};
    CHECK(some(1, 0) == 3);
    CHECK(some(1, 1) == 0);
    using too_many = tensor<int, 2>;
    CHECK_THROWS_AS(too_many({1, 2, 3}), stoker::error);
}

TEST_CASE("Dynamic extents are given alone or among all", "[tensor]") {
    const tensor<float, dynamic, 3> alone(4);
    const tensor<float, dynamic, 3> all(4, 3);
    CHECK(alone.shape() == std::array<std::size_t, 2>{4, 3});
    CHECK(alone == all);
    CHECK(alone.size() == 12);
    const tensor<float, 3, dynamic, 2, dynamic> mixed(5, 7);
    CHECK(mixed.shape() == std::array<std::size_t, 4>{3, 5, 2, 7});
}

TEST_CASE("An extent that contradicts the type is refused with both numbers", "[tensor]") {
    using points = tensor<float, dynamic, 3>;
    try {
        const points wrong(4, 2);
        FAIL("was accepted with " << wrong.size());
    } catch (const stoker::error& error) {
        CHECK(error.code() == stoker::errc::shape_mismatch);
        CHECK(error.text().find("axis 1") != std::string::npos);
        CHECK(error.text().find("2") != std::string::npos);
        CHECK(error.text().find("3") != std::string::npos);
    }
}

TEST_CASE("Extents whose product wraps around are refused, not allocated small", "[tensor]") {
    using matrix = tensor<std::uint8_t, dynamic, dynamic>;
    const std::size_t half = std::size_t{1} << 32;
    CHECK_THROWS_AS(matrix(half, half), std::bad_alloc);
}

TEST_CASE("Copies of a dynamic tensor are independent, moves leave nothing behind", "[tensor]") {
    tensor<int, dynamic, 2> first(3);
    first(2, 1) = 9;
    tensor<int, dynamic, 2> copy = first;
    copy(2, 1) = 5;
    CHECK(first(2, 1) == 9);
    const int* elements = first.data();
    tensor<int, dynamic, 2> moved = std::move(first);
    CHECK(moved.data() == elements);
    CHECK(moved(2, 1) == 9);
    CHECK(first.size() == 0);  // NOLINT: the state after a move is what is looked at
    first = copy;
    CHECK(first == copy);
    tensor<int, dynamic, 2>& alias = first;
    first = alias;
    CHECK(first(2, 1) == 5);
    first = std::move(moved);
    CHECK(first(2, 1) == 9);
    CHECK(moved.size() == 0);  // NOLINT
}

TEST_CASE("Tensors are equal when shape and elements are", "[tensor]") {
    tensor<int, dynamic> left(3);
    const tensor<int, dynamic> right(3);
    CHECK(left == right);
    left(1) = 1;
    CHECK_FALSE(left == right);
    CHECK_FALSE(right == tensor<int, dynamic>(4));
}
