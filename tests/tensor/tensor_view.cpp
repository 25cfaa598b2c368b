#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <ranges>
#include <stoker/core/error.hpp>
#include <stoker/tensor/tensor_view.hpp>
#include <type_traits>
#include <vector>

#include "support/catch.hpp"

namespace {

using stoker::dynamic;
using stoker::tensor;
using stoker::tensor_view;
using batch_view = tensor_view<int, dynamic, 2, 3>;
using constant_view = tensor_view<const int, dynamic, 2, 3>;

static_assert(std::is_trivially_copyable_v<batch_view>);
static_assert(sizeof(batch_view) == 16, "a pointer and the one extent that is not of the type");
static_assert(sizeof(tensor_view<int, 2, 3>) == 8);
static_assert(std::is_convertible_v<batch_view, constant_view>);
static_assert(!std::is_constructible_v<batch_view, constant_view>, "const stays const");
static_assert(std::is_convertible_v<tensor<int, 2, 3>&, tensor_view<int, 2, 3>>);
static_assert(std::is_convertible_v<const tensor<int, 2, 3>&, tensor_view<const int, 2, 3>>);
static_assert(!std::is_constructible_v<tensor_view<int, 2, 3>, const tensor<int, 2, 3>&>);
static_assert(std::ranges::random_access_range<batch_view>);
static_assert(std::ranges::sized_range<batch_view>);
static_assert(std::is_same_v<batch_view::reference, tensor_view<int, 2, 3>>);
static_assert(std::is_same_v<tensor_view<const float, dynamic>::reference, const float&>);

std::vector<int> counted(std::size_t size) {
    std::vector<int> numbers(size);
    std::iota(numbers.begin(), numbers.end(), 0);
    return numbers;
}

}  // namespace

TEST_CASE("A view sees what it looks at, by element and by axis", "[tensor]") {
    auto numbers = counted(24);
    const batch_view view(numbers.data(), 4);
    CHECK(view.rank() == 3);
    CHECK(view.size() == 24);
    CHECK(view.shape() == std::array<std::size_t, 3>{4, 2, 3});
    CHECK(view(3, 1, 2) == 23);
    CHECK(view[2][1][0] == 15);
    CHECK(view[2].data() == numbers.data() + 12);
    view(0, 0, 1) = 50;
    view[1][0][2] = 60;
    CHECK(numbers[1] == 50);
    CHECK(numbers[8] == 60);
}

TEST_CASE("A view is a range over its first axis", "[tensor]") {
    auto numbers = counted(12);
    const tensor_view<int, dynamic, 3> view(numbers.data(), 4);
    int sum = 0;
    std::size_t rows = 0;
    for (auto row : view) {
        ++rows;
        for (int& each : row) {
            sum += each;
            each = -1;
        }
    }
    CHECK(rows == 4);
    CHECK(sum == 66);
    CHECK(numbers == std::vector<int>(12, -1));
    CHECK(std::ranges::size(view) == 4);
    CHECK((view.end() - view.begin()) == 4);
    CHECK((*(view.begin() + 2)).data() == numbers.data() + 6);
    CHECK(view.begin()[3].data() == numbers.data() + 9);
}

TEST_CASE("All elements of a view are a range, whatever its axes", "[tensor]") {
    std::array<int, 12> memory{};
    std::iota(memory.begin(), memory.end(), 0);
    const tensor_view<int, 2, 3, 2> view(memory.data());
    CHECK(std::ranges::equal(view.elements(), memory));
    CHECK(tensor_view<const int, dynamic>().elements().empty());
}

TEST_CASE("Inner dynamic extents count in strides", "[tensor]") {
    auto numbers = counted(24);
    const tensor_view<int, dynamic, dynamic, 2> view(numbers.data(), 3, 4);
    CHECK(view[1](0, 0) == 8);
    CHECK(view[2][3][1] == 23);
    CHECK(view[1].shape() == std::array<std::size_t, 2>{4, 2});
}

TEST_CASE("A view of a tensor follows it; a default one is empty", "[tensor]") {
    tensor<int, dynamic, 3> owner(2);
    const tensor_view<int, dynamic, 3> view = owner;
    view(1, 2) = 8;
    CHECK(owner(1, 2) == 8);
    const tensor_view<const int, dynamic, 3> constant = view;
    CHECK(constant(1, 2) == 8);
    CHECK(tensor_view<int, dynamic, 3>{}.size() == 0);
    CHECK(tensor_view<int, dynamic, 3>{}.begin() == tensor_view<int, dynamic, 3>{}.end());
}

TEST_CASE("Extents that contradict the view's type are refused", "[tensor]") {
    auto numbers = counted(8);
    using pairs = tensor_view<int, dynamic, 2>;
    CHECK_THROWS_AS(pairs(numbers.data(), 2, 4), stoker::error);
    CHECK_THROWS_AS(pairs(numbers.data(), std::array<std::uint64_t, 2>{2, 4}), stoker::error);
}
