#include <array>
#include <cstdint>
#include <cstring>
#include <stoker/dataset/row.hpp>
#include <type_traits>
#include <vector>

#include "support/catch.hpp"

namespace {

using stoker::row;
using stoker::tensor;
using stoker::tensor_view;

enum class kind : std::int16_t { cat = 3, dog = 4 };
struct inner {
    float x;
    std::array<std::array<std::int32_t, 2>, 3> grid;
};
struct photo {
    tensor<std::uint8_t, 2, 3> pixels;
    kind what;
    inner nested;
    bool flag;
};

static_assert(std::is_same_v<decltype(std::declval<row<photo>>()[&photo::pixels]),
                             tensor_view<std::uint8_t, 2, 3>>);
static_assert(std::is_same_v<decltype(std::declval<row<photo>>()[&photo::what]), kind&>);
static_assert(std::is_same_v<decltype(std::declval<row<photo>>()[&photo::nested]), row<inner>>);
static_assert(std::is_same_v<decltype(std::declval<row<inner>>()[&inner::grid]),
                             tensor_view<std::int32_t, 3, 2>>);

/// Memory for three photos, column by column.
struct memory {
    std::vector<std::uint8_t> pixels = std::vector<std::uint8_t>(18, 0xee);
    std::array<kind, 3> what{};
    std::array<float, 3> x{};
    std::array<std::int32_t, 18> grid{};
    std::array<bool, 3> flag{};
    std::array<std::byte*, 5> columns{
        reinterpret_cast<std::byte*>(pixels.data()), reinterpret_cast<std::byte*>(what.data()),
        reinterpret_cast<std::byte*>(x.data()), reinterpret_cast<std::byte*>(grid.data()),
        reinterpret_cast<std::byte*>(flag.data())};
};

}  // namespace

TEST_CASE("A row writes its own place in each column, and no other", "[dataset]") {
    memory batch;
    const row<photo> second(batch.columns.data(), 1);
    second[&photo::pixels](1, 2) = 7;
    second[&photo::what] = kind::dog;
    second[&photo::nested][&inner::x] = 2.5f;
    second[&photo::nested][&inner::grid][2][1] = 9;
    second[&photo::flag] = true;
    CHECK(second[&photo::pixels].data() == batch.pixels.data() + 6);
    CHECK(batch.pixels[11] == 7);
    CHECK(batch.what == std::array{kind{}, kind::dog, kind{}});
    CHECK(batch.x == std::array{0.0f, 2.5f, 0.0f});
    CHECK(batch.grid[11] == 9);
    CHECK(batch.flag == std::array{false, true, false});
    batch.pixels[11] = 0xee;
    CHECK(batch.pixels == std::vector<std::uint8_t>(18, 0xee));
}

TEST_CASE("A row takes a whole sample", "[dataset]") {
    memory batch;
    row<photo>(batch.columns.data(), 2) =
        photo{{1, 2, 3, 4, 5, 6}, kind::cat, {0.5f, {{{1, 2}, {3, 4}, {5, 6}}}}, true};
    CHECK(batch.pixels[12] == 1);
    CHECK(batch.pixels[17] == 6);
    CHECK(batch.what[2] == kind::cat);
    CHECK(batch.x[2] == 0.5f);
    CHECK(batch.grid[12] == 1);
    CHECK(batch.grid[17] == 6);
    CHECK(batch.flag[2]);
}

TEST_CASE("A sample that is no struct has one value", "[dataset]") {
    std::array<double, 4> numbers{};
    std::array<std::byte*, 1> columns{reinterpret_cast<std::byte*>(numbers.data())};
    row<double>(columns.data(), 3).value() = 1.5;
    CHECK(numbers[3] == 1.5);
}
