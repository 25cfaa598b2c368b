#include <cstdint>
#include <memory>
#include <ranges>
#include <stoker/core/error.hpp>
#include <stoker/dataset/concat.hpp>
#include <stoker/dataset/map.hpp>
#include <stoker/dataset/subset.hpp>
#include <type_traits>
#include <vector>

#include "dataset/composed.hpp"
#include "support/catch.hpp"

using namespace stoker;
using namespace stoker::test_dataset;
using values = std::vector<std::int64_t>;

TEST_CASE("Joined datasets follow one another, empty ones leave nothing", "[dataset]") {
    auto joined = concat(numbers{2}, numbers{0}, std::vector<number>{{7}, {8}}, numbers{1});
    static_assert(dataset<decltype(joined)>);
    CHECK(joined.size() == 5);
    CHECK(values_of(joined) == values{0, 1, 7, 8, 0});
    CHECK(values_of(concat(numbers{0}, numbers{0})).empty());
}

TEST_CASE("Any number of datasets of one type can be joined", "[dataset]") {
    CHECK(values_of(concat(std::vector{numbers{2}, numbers{0}, numbers{3}})) ==
          values{0, 1, 0, 1, 2});
    CHECK(concat(std::vector<numbers>{}).size() == 0);
    std::vector<std::unique_ptr<numbers>> owned;  // move-only
    owned.push_back(std::make_unique<numbers>(numbers{1}));
    owned.push_back(std::make_unique<numbers>(numbers{2}));
    CHECK(values_of(concat(std::move(owned))) == values{0, 0, 1});
}

TEST_CASE("A joined dataset reads rows and uses contexts when one of its parts does", "[dataset]") {
    int opened = 0;
    auto all = concat(numbers{2}, row_numbers{nullptr, &opened}, drawn_numbers{}, drawn_rows{});
    static_assert(dataset_traits<decltype(all)>::reads);
    static_assert(dataset_traits<decltype(all)>::uses_context);
    CHECK(all.size() == 17);
    CHECK(values_of(all) == values{0, 1,           //
                                   0, 1, 2, 3, 4,  //
                                   0, 1, 2, 3, 4,  //
                                   1200, 1301, 1402, 1503, 1604});
    auto plain = concat(numbers{2}, numbers{1});
    static_assert(!dataset_traits<decltype(plain)>::reads);
    static_assert(!dataset_traits<decltype(plain)>::uses_context);
}

TEST_CASE("Each joined dataset is opened once", "[dataset]") {
    int first = 0;
    int second = 0;
    auto joined = concat(numbers{1}, row_numbers{nullptr, &first}, row_numbers{nullptr, &second});
    joined.open();
    CHECK(first == 1);
    CHECK(second == 1);
    static_assert(!detail::dataset_access<decltype(concat(numbers{1}, numbers{1}))>::opens);
}

TEST_CASE("Samples that lie in memory are not copied", "[dataset]") {
    auto stored = concat(std::vector<number>{{1}}, std::make_shared<std::vector<number>>(2));
    static_assert(std::is_same_v<decltype(stored.get(0)), const number&>);
    CHECK(&stored.get(0) == &stored.get(0));
    auto mixed = concat(std::vector<number>{{1}}, numbers{1});
    static_assert(std::is_same_v<decltype(mixed.get(0)), number>);
}

TEST_CASE("An index that a joined dataset does not have is named, with its size [B065]",
          "[dataset]") {
    auto joined = concat(numbers{2}, numbers{3});
    CHECK(refusal([&] { joined.get(5); }) == "index 5 is out of range: the dataset has 5 samples");
    CHECK(refusal([&] { joined.get(static_cast<stoker::index>(-1)); }) ==
          "index -1 is out of range: the dataset has 5 samples");
    CHECK(refusal([&] { joined.get(INT64_MAX); }) ==
          "index 9223372036854775807 is out of range: the dataset has 5 samples");
    CHECK(refusal([] { concat(numbers{~std::size_t{0}}, numbers{2}); }) ==
          "concat: the datasets have more than 2^64 samples together");
}

TEST_CASE("Joined, mapped and chosen datasets nest freely", "[dataset]") {
    auto nested = concat(subset(concat(numbers{3}, numbers{3}), {5, 0}) | map(doubled),
                         std::views::iota(0, 2) |
                             std::views::transform([](int i) { return number{10 + i}; })) |
                  map(doubled);
    CHECK(values_of(nested) == values{8, 0, 20, 22});
}

TEST_CASE("Samples with dynamic members can be joined", "[dataset]") {
    auto joined = concat(words{}, std::vector<word>(2));
    CHECK(joined.size() == 5);
    CHECK(joined.get(2).letters.size() == 2);
}
