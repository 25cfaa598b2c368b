#include <stoker/sampler/batch_sampler.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <range/v3/view/chunk.hpp>
#include <range/v3/view/filter.hpp>
#include <range/v3/view/iota.hpp>
#include <ranges>
#include <stdexcept>
#include <stoker/core/error.hpp>
#include <string>
#include <type_traits>
#include <vector>

#include "support/catch.hpp"

using stoker::batch_sampler;
using stoker::index;
using stoker::detail::index_source;

using lists = std::vector<std::vector<index>>;

static_assert(std::is_same_v<decltype(batch_sampler{lists{}}), batch_sampler<lists>>);
static_assert(stoker::detail::index_list_range<lists>);
static_assert(!stoker::detail::index_list_range<std::vector<int>>);
static_assert(!stoker::detail::index_list_range<std::vector<std::vector<double>>>);

namespace {

lists epoch_of(index_source& source, std::uint64_t epoch) {
    lists batches;
    std::vector<index> indices;
    source.begin(epoch);
    while (source.next(indices)) {
        batches.push_back(indices);
    }
    return batches;
}

}  // namespace

TEST_CASE("chunks of a view are batches", "[sampler]") {
    const auto source =
        batch_sampler{ranges::views::iota(0, 100) | ranges::views::chunk(7)}.make_source();
    CHECK(source->length() == 15U);
    CHECK(source->largest_batch() == 7U);
    for (const std::uint64_t epoch : {0U, 1U}) {
        const lists batches = epoch_of(*source, epoch);
        REQUIRE(batches.size() == 15);
        CHECK(batches[0] == std::vector<index>{0, 1, 2, 3, 4, 5, 6});
        CHECK(batches[14] == std::vector<index>{98, 99});
    }
    const auto odd = [](int value) { return value % 2 == 1; };
    const auto filtered = batch_sampler{ranges::views::iota(0, 10) | ranges::views::filter(odd) |
                                        ranges::views::chunk(2)}
                              .make_source();
    CHECK(epoch_of(*filtered, 0) == lists{{1, 3}, {5, 7}, {9}});
    CHECK(epoch_of(*filtered, 1) == lists{{1, 3}, {5, 7}, {9}});
}

TEST_CASE("lists of any kind come as they are", "[sampler]") {
    const auto nested = batch_sampler{std::vector<std::vector<int>>{{0, -1}, {2}, {2, 2, 2}}};
    const auto source = batch_sampler{nested}.make_source();
    CHECK(source->length() == 3U);
    CHECK(epoch_of(*source, 0) == lists{{0, static_cast<index>(-1)}, {2}, {2, 2, 2}});
    const auto fixed =
        batch_sampler{std::vector<std::array<std::uint8_t, 2>>{{0, 255}, {7, 7}}}.make_source();
    CHECK(epoch_of(*fixed, 0) == lists{{0, 255}, {7, 7}});
    const auto pairs = batch_sampler{
        std::views::iota(0, 3) | std::views::transform([](int i) {
            return std::views::iota(2 * i, 2 * i + 2);
        })}.make_source();
    CHECK(pairs->length() == 3U);
    CHECK(epoch_of(*pairs, 0) == lists{{0, 1}, {2, 3}, {4, 5}});
}

TEST_CASE("a callable makes the batches of each epoch", "[sampler]") {
    const auto source = batch_sampler{[](std::uint64_t epoch) {
                            return lists{{epoch}, {epoch, epoch + 1}};
                        }}.make_source();
    CHECK_FALSE(source->length().has_value());
    CHECK(epoch_of(*source, 0) == lists{{0}, {0, 1}});
    CHECK(epoch_of(*source, 3) == lists{{3}, {3, 4}});
}

TEST_CASE("an empty list is an error that names the batch, and the next list follows",
          "[sampler]") {
    const auto source = batch_sampler{lists{{1}, {}, {2}}}.make_source();
    std::vector<index> indices;
    source->begin(4);
    REQUIRE(source->next(indices));
    std::string text;
    try {
        source->next(indices);
    } catch (const stoker::error& failure) {
        CHECK(failure.code() == stoker::errc::invalid_option);
        text = failure.what();
    }
    CHECK(text.find("batch 1 of epoch 4") != std::string::npos);
    REQUIRE(source->next(indices));
    CHECK(indices == std::vector<index>{2});
    CHECK_FALSE(source->next(indices));
}

TEST_CASE("a sampler without lists is an epoch without batches", "[sampler]") {
    const auto source = batch_sampler{lists{}}.make_source();
    CHECK(source->length() == 0U);
    CHECK(epoch_of(*source, 0).empty());
    std::vector<index> indices;
    CHECK_FALSE(source->next(indices));
}

TEST_CASE("what a list throws ends its epoch", "[sampler]") {
    const auto source = batch_sampler{
        std::views::iota(0, 3) | std::views::transform([](int i) {
            return i == 1 ? throw std::runtime_error{"lost"} : std::vector{i};
        })}.make_source();
    std::vector<index> indices;
    source->begin(0);
    REQUIRE(source->next(indices));
    CHECK_THROWS_AS(source->next(indices), std::runtime_error);
    CHECK_FALSE(source->next(indices));
}
