#include <cstdint>
#include <memory>
#include <range/v3/view/iota.hpp>
#include <range/v3/view/stride.hpp>
#include <ranges>
#include <set>
#include <stoker/core/error.hpp>
#include <stoker/dataset/map.hpp>
#include <stoker/dataset/subset.hpp>
#include <stoker/tensor/tensor.hpp>
#include <type_traits>
#include <vector>

#include "dataset/composed.hpp"
#include "support/catch.hpp"

using namespace stoker;
using namespace stoker::test_dataset;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("A subset has the chosen samples in the chosen order, repeats too", "[dataset]") {
    auto chosen = subset(numbers{10}, {7, 0, 7, 9});
    static_assert(dataset<decltype(chosen)>);
    CHECK(chosen.size() == 4);
    CHECK(values_of(chosen) == std::vector<std::int64_t>{7, 0, 7, 9});
    CHECK(values_of(subset(numbers{10}, std::vector<short>{})).empty());
}

TEST_CASE("Indices may be any range of integers", "[dataset]") {
    const std::vector<std::int64_t> evens{0, 2, 4, 6, 8};
    CHECK(values_of(subset(numbers{10}, evens)) == evens);
    CHECK(values_of(subset(numbers{10}, std::set<unsigned>{8, 6, 4, 2, 0})) == evens);
    CHECK(values_of(subset(numbers{10}, ranges::views::iota(0, 10) | ranges::views::stride(2))) ==
          evens);
    const auto is_even = [](int i) { return i % 2 == 0; };
    CHECK(values_of(subset(numbers{10}, std::views::iota(0, 10) | std::views::filter(is_even))) ==
          evens);
}

TEST_CASE("A view takes no memory, however many indices it has", "[dataset]") {
    auto chosen = subset(numbers{std::size_t{1} << 40},
                         std::views::iota(std::uint64_t{5}, std::uint64_t{1} << 40));
    CHECK(chosen.size() == (std::uint64_t{1} << 40) - 5);
    CHECK(chosen.get(chosen.size() - 1).value == (std::int64_t{1} << 40) - 1);
}

TEST_CASE("An index that the dataset does not have is named, by a list at once [B065]",
          "[dataset]") {
    for (const std::int64_t wrong : {std::int64_t{-1}, std::int64_t{10}, INT64_MAX}) {
        CAPTURE(wrong);
        const auto text =
            "index " + std::to_string(wrong) + " is out of range: the dataset has 10 samples";
        CHECK(refusal([&] { subset(numbers{10}, std::vector{std::int64_t{3}, wrong}); }) == text);
        auto late = subset(numbers{10}, std::views::iota(0, 2) | std::views::transform([=](int i) {
                                            return i == 0 ? 3 : wrong;
                                        }));
        CHECK(late.get(0).value == 3);
        CHECK(refusal([&] { late.get(1); }) == text);
    }
    auto three = subset(numbers{10}, {1, 2, 3});
    CHECK(refusal([&] { three.get(3); }) == "index 3 is out of range: the dataset has 3 samples");
    CHECK(refusal([&] { three.get(static_cast<stoker::index>(-1)); }) ==
          "index -1 is out of range: the dataset has 3 samples");
}

TEST_CASE("A subset is used as its dataset is: rows, context, references, open", "[dataset]") {
    int opened = 0;
    auto read = subset(row_numbers{nullptr, &opened}, {4, 2});  // move-only
    static_assert(dataset_traits<decltype(read)>::reads);
    static_assert(!dataset_traits<decltype(read)>::uses_context);
    CHECK(values_of(read) == std::vector<std::int64_t>{4, 2});
    read.open();
    CHECK(opened == 1);

    auto drawn = subset(drawn_numbers{}, {4, 2});
    static_assert(dataset_traits<decltype(drawn)>::uses_context);
    context c{1, 2, 3};
    context same{1, 2, 3};
    CHECK(drawn.get(1, c).value == 2);
    drawn_numbers{}.get(2, same);
    CHECK(c.random() == same.random());

    const std::vector<number> stored{{1}, {2}, {3}};
    auto chosen = subset(stored, {2, 1});
    static_assert(std::is_lvalue_reference_v<decltype(chosen.get(0))>, "nothing is copied");
    CHECK(chosen.get(0).value == 3);
}

TEST_CASE("Shared datasets stay shared, and subsets nest", "[dataset]") {
    const auto shared = std::make_shared<std::vector<number>>(std::vector<number>{{0}, {1}, {2}});
    auto nested = subset(subset(shared, {2, 1, 0}) | map(doubled), {0, 2});
    (*shared)[2].value = 50;
    CHECK(values_of(nested) == std::vector<std::int64_t>{100, 0});
    CHECK(refusal([] { subset(std::shared_ptr<std::vector<number>>(), {0}); }) ==
          "the pointer to a dataset is null");
}

TEST_CASE("Samples with dynamic members can be chosen", "[dataset]") {
    auto chosen = subset(words{}, {2, 1});
    CHECK(chosen.get(0).letters.size() == 2);
}
