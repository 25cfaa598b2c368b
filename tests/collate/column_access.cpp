#include <array>
#include <concepts>
#include <cstdint>
#include <numeric>
#include <stoker/collate/column_access.hpp>
#include <stoker/core/error.hpp>
#include <stoker/tensor/f16.hpp>
#include <string>
#include <tuple>

#include "collate/support.hpp"
#include "support/catch.hpp"

namespace {

using stoker::dynamic;
using stoker::tensor;
using stoker::tensor_view;
using stoker::detail::column_access;
using stoker::test_support::test_batch;

enum class kind : std::int16_t { cat = 3, dog = 4 };
struct inner {
    float x;
    std::array<std::int32_t, 2> pair;
};
struct middle {
    inner left;
    inner right;
};
struct photo {
    tensor<std::uint8_t, 2, 3> pixels;
    kind what;
    middle nested;
    std::int64_t label;
    bool flag;
    std::int64_t weight;
};

using access = column_access<photo>;
using records_type = const stoker::detail::column_record*;
template <class Byte, class Member>
using member_view = decltype(access::member(std::declval<Byte*>(), records_type{},
                                            std::declval<Member photo::*>()));

static_assert(std::same_as<member_view<std::byte, tensor<std::uint8_t, 2, 3>>,
                           tensor_view<std::uint8_t, dynamic, 2, 3>>);
static_assert(std::same_as<member_view<const std::byte, tensor<std::uint8_t, 2, 3>>,
                           tensor_view<const std::uint8_t, dynamic, 2, 3>>);
static_assert(std::same_as<member_view<std::byte, kind>, tensor_view<kind, dynamic>>);
static_assert(std::same_as<member_view<const std::byte, bool>, tensor_view<const bool, dynamic>>);
static_assert(std::same_as<member_view<std::byte, middle>, stoker::struct_view<middle, std::byte>>);
static_assert(
    std::tuple_size_v<decltype(access::columns(std::declval<std::byte*>(), records_type{}))> == 6);

photo numbered(int n) {
    const auto byte = static_cast<std::uint8_t>(n);
    return {{byte, 1, 2, 3, 4, byte},
            n % 2 == 0 ? kind::cat : kind::dog,
            {{0.5f * static_cast<float>(n), {n, n + 1}}, {1.5f, {-n, 0}}},
            n,
            n % 2 == 0,
            -n};
}
auto batch_of_four() {
    test_batch batch(std::vector<photo>{numbered(0), numbered(1), numbered(2), numbered(3)});
    batch.fetch({3, 1, 0, 2});
    return batch;
}

}  // namespace

TEST_CASE("Members are had by pointer, with the batch in front", "[collate]") {
    auto batch = batch_of_four();
    const auto pixels = batch[&photo::pixels];
    CHECK(pixels.shape() == std::array<std::size_t, 3>{4, 2, 3});
    CHECK(pixels(0, 0, 0) == 3);
    CHECK(pixels[3](1, 2) == 2);
    const auto what = batch[&photo::what];
    CHECK(what[0] == kind::dog);
    CHECK(what[2] == kind::cat);
    CHECK(batch[&photo::flag][2]);
    CHECK_FALSE(batch[&photo::flag][0]);
}

TEST_CASE("Two members of one type are told apart", "[collate]") {
    auto batch = batch_of_four();
    CHECK(batch[&photo::label][0] == 3);
    CHECK(batch[&photo::weight][0] == -3);
    CHECK(batch[&photo::nested][&middle::left][&inner::x][3] == 1.0f);
    CHECK(batch[&photo::nested][&middle::right][&inner::x][3] == 1.5f);
    CHECK(batch[&photo::nested][&middle::right][&inner::pair](0, 0) == -3);
}

TEST_CASE("Members are had in order, nested structs as a view of their own", "[collate]") {
    auto batch = batch_of_four();
    auto [pixels, what, nested, label, flag, weight] = batch.columns();
    CHECK(pixels.data() == batch[&photo::pixels].data());
    CHECK(what.data() == batch[&photo::what].data());
    CHECK(label.data() == batch[&photo::label].data());
    CHECK(flag.data() == batch[&photo::flag].data());
    CHECK(weight.data() == batch[&photo::weight].data());
    auto [left, right] = nested.columns();
    auto [x, pair] = left.columns();
    CHECK(x[0] == 1.5f);
    CHECK(pair[0][1] == 4);
    label[0] = 77;
    CHECK(batch[&photo::label][0] == 77);
    CHECK(right[&inner::pair].extent(0) == 4);
}

TEST_CASE("A name that is not there is answered with those that are", "[collate]") {
    auto batch = batch_of_four();
    try {
        const auto any = batch.named("pixel");
        FAIL("was found as " << any.name());
    } catch (const stoker::error& error) {
        CHECK(error.code() == stoker::errc::invalid_option);
        CHECK(error.text() ==
              "the batch has no column 'pixel'; its columns are: pixels, what, nested.left.x, "
              "nested.left.pair, nested.right.x, nested.right.pair, label, flag, weight");
    }
}

TEST_CASE("A sample that is no struct is one view, named value", "[collate]") {
    test_batch batch(std::vector<float>{1, 2, 3});
    batch.fetch({2, 0});
    auto [value] = batch.columns();
    static_assert(std::same_as<decltype(value), tensor_view<float, dynamic>>);
    CHECK(value[0] == 3);
    CHECK(value[1] == 1);
    CHECK(batch.named("value").extent(0) == 2);
}
