#include <array>
#include <concepts>
#include <cstdint>
#include <stoker/collate/column_view.hpp>
#include <stoker/core/error.hpp>
#include <type_traits>
#include <vector>

#include "collate/support.hpp"
#include "support/catch.hpp"

namespace {

using stoker::dynamic;
using stoker::tensor;
using stoker::tensor_view;
using stoker::test_support::test_batch;

static_assert(std::is_trivially_copyable_v<stoker::column_view>);
static_assert(std::same_as<decltype(std::declval<stoker::column_view>().data()), const std::byte*>);
static_assert(
    std::same_as<decltype(std::declval<stoker::mutable_column_view>().data()), std::byte*>);

enum class kind : std::int16_t { cat = 3, dog = 4 };
struct inner {
    std::array<std::int32_t, 2> pair;
};
struct photo {
    tensor<std::uint8_t, 2, 3> pixels;
    kind what;
    inner nested;
};

auto batch_of_four() {
    std::vector<photo> photos(4);
    photos[3] = {{}, kind::dog, {{3, 4}}};
    test_batch batch(std::move(photos));
    batch.fetch({3, 1, 0, 2});
    return batch;
}

}  // namespace

TEST_CASE("A column by name says what it is, and becomes typed", "[collate]") {
    auto batch = batch_of_four();
    const auto any = batch.named("nested.pair");
    CHECK(any.name() == "nested.pair");
    CHECK(any.type() == stoker::dtype::i32);
    CHECK(any.rank() == 2);
    CHECK(any.extent(0) == 4);
    CHECK(any.extent(1) == 2);
    CHECK(any.size() == 8);
    const auto typed = any.as<tensor_view<std::int32_t, dynamic, 2>>();
    CHECK(typed(0, 1) == 4);
    CHECK(any.as<tensor_view<const std::int32_t, dynamic, dynamic>>()(0, 1) == 4);
    CHECK(batch.named("what").as<tensor_view<kind, dynamic>>()[0] == kind::dog);
    CHECK(batch.named("what").as<tensor_view<std::int16_t, 4>>()[0] == 4);
}

TEST_CASE("A column is not had as what it is not", "[collate]") {
    auto batch = batch_of_four();
    const auto any = batch.named("pixels");
    using other_type = tensor_view<float, dynamic, 2, 3>;
    using other_rank = tensor_view<std::uint8_t, dynamic, 6>;
    using other_extent = tensor_view<std::uint8_t, dynamic, 3, 2>;
    CHECK_THROWS_AS(any.as<other_type>(), stoker::error);
    CHECK_THROWS_AS(any.as<other_rank>(), stoker::error);
    try {
        any.as<other_extent>();
        FAIL("was accepted");
    } catch (const stoker::error& error) {
        CHECK(error.text() ==
              "column 'pixels' holds u8 of shape [4, 2, 3] and was asked for as u8 of shape [?, "
              "3, 2]");
    }
}

TEST_CASE("A column of a batch that may be written can be written by name", "[collate]") {
    auto batch = batch_of_four();
    batch.named("what").as<tensor_view<kind, dynamic>>()[1] = kind::cat;
    CHECK(batch[&photo::what][1] == kind::cat);
}
