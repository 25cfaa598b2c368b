#include <stoker/sampler/sampler.hpp>

#include <cstdint>
#include <forward_list>
#include <limits>
#include <list>
#include <memory>
#include <numeric>
#include <range/v3/view/filter.hpp>
#include <range/v3/view/iota.hpp>
#include <range/v3/view/stride.hpp>
#include <ranges>
#include <stdexcept>
#include <stoker/core/error.hpp>
#include <type_traits>
#include <vector>

#include "support/catch.hpp"

using stoker::index;
using stoker::sampler;
using stoker::detail::describe_index;
using stoker::detail::index_source;

using lists = std::vector<std::vector<index>>;

static_assert(std::is_same_v<decltype(sampler{std::vector{1, 2}}), sampler<std::vector<int>>>);
static_assert(std::is_nothrow_move_constructible_v<sampler<std::vector<int>>>);
static_assert(stoker::detail::index_range<std::vector<std::int8_t>>);
static_assert(!stoker::detail::index_range<std::vector<bool>>);
static_assert(!stoker::detail::index_range<std::vector<double>>);
static_assert(!stoker::detail::index_range<int>);

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

bool is_third(int value) {
    return value % 3 == 0;
}

}  // namespace

TEST_CASE("a container is a sampler, duplicates and all", "[sampler]") {
    const auto source = sampler{std::vector{3, 1, 4, 1, 5}}.make_source(2, false);
    CHECK(source->length() == 3U);
    CHECK(source->largest_batch() == 2U);
    CHECK(epoch_of(*source, 0) == lists{{3, 1}, {4, 1}, {5}});
    CHECK(epoch_of(*source, 1) == lists{{3, 1}, {4, 1}, {5}});
    const auto dropping = sampler{std::list{3L, 1L, 4L}}.make_source(2, true);
    CHECK(dropping->length() == 1U);
    CHECK(epoch_of(*dropping, 0) == lists{{3, 1}});
    const auto unsized = sampler{std::forward_list{3, 1}}.make_source(2, true);
    CHECK_FALSE(unsized->length().has_value());
    CHECK(epoch_of(*unsized, 0) == lists{{3, 1}});
}

TEST_CASE("views of both libraries are samplers, epoch after epoch", "[sampler]") {
    const lists expected{{0, 3, 6}, {9, 12, 15}, {18}};
    const auto theirs = sampler{ranges::views::iota(0, 20) | ranges::views::filter(is_third)};
    auto source = sampler{theirs}.make_source(3, false);
    CHECK_FALSE(source->length().has_value());
    for (const std::uint64_t epoch : {0U, 1U, 2U}) {
        CHECK(epoch_of(*source, epoch) == expected);
    }
    source = sampler{std::views::iota(0, 20) | std::views::filter(is_third)}.make_source(3, false);
    for (const std::uint64_t epoch : {0U, 1U, 2U}) {
        CHECK(epoch_of(*source, epoch) == expected);
    }
    source = sampler{ranges::views::iota(0, 20) | ranges::views::stride(3)}.make_source(3, false);
    CHECK(source->length() == 3U);
    CHECK(epoch_of(*source, 0) == expected);
}

TEST_CASE("a callable makes the order of each epoch", "[sampler]") {
    int calls = 0;
    const auto source = sampler{[&calls](std::uint64_t epoch) {
                            ++calls;
                            return std::views::iota(epoch, epoch + 3);
                        }}.make_source(2, false);
    CHECK(calls == 0);
    CHECK_FALSE(source->length().has_value());
    CHECK(epoch_of(*source, 0) == lists{{0, 1}, {2}});
    CHECK(epoch_of(*source, 5) == lists{{5, 6}, {7}});
    CHECK(calls == 2);

    std::vector<int> kept{9, 8};
    const auto copying = sampler{[&kept](std::uint64_t) -> const std::vector<int>& {
                             return kept;
                         }}.make_source(4, false);
    CHECK(epoch_of(*copying, 0) == lists{{9, 8}});
    kept = {1};
    CHECK(epoch_of(*copying, 1) == lists{{1}});

    auto owned = std::make_unique<int>(6);
    const auto moved = sampler{[owned = std::move(owned)](std::uint64_t) {
                           return std::vector{*owned};
                       }}.make_source(1, false);
    CHECK(epoch_of(*moved, 0) == lists{{6}});
}

TEST_CASE("an lvalue is copied, so that it may change or die", "[sampler]") {
    std::vector<int> order{2, 1};
    sampler kept{order};
    order = {7, 7, 7};
    CHECK(epoch_of(*std::move(kept).make_source(2, false), 0) == lists{{2, 1}});
}

TEST_CASE("sizes times batch sizes times drop_last add up", "[sampler]") {
    for (const int size : {0, 1, 2, 5, 8, 9}) {
        for (const std::uint64_t batch_size : {1U, 2U, 3U, 8U, 20U}) {
            for (const bool drop_last : {false, true}) {
                CAPTURE(size, batch_size, drop_last);
                const auto source =
                    sampler{std::views::iota(0, size)}.make_source(batch_size, drop_last);
                const lists batches = epoch_of(*source, 0);
                REQUIRE(batches.size() == source->length());
                index expected = 0;
                for (const auto& batch : batches) {
                    for (const index each : batch) {
                        REQUIRE(each == expected++);
                    }
                }
                const auto count = static_cast<std::uint64_t>(size);
                REQUIRE(expected == (drop_last ? count / batch_size * batch_size : count));
                std::vector<index> indices;
                REQUIRE_FALSE(source->next(indices));
            }
        }
    }
}

TEST_CASE("indices of every type arrive as they were meant [B065]", "[sampler]") {
    const auto only = [](auto value) {
        const auto source = sampler{std::vector{value}}.make_source(1, false);
        return epoch_of(*source, 0).at(0).at(0);
    };
    CHECK(only(std::uint8_t{255}) == 255);
    CHECK(only(std::uint32_t{4'294'967'295U}) == 4'294'967'295U);
    CHECK(only(std::numeric_limits<std::int64_t>::max()) == 9'223'372'036'854'775'807U);
    CHECK(describe_index(only(std::int8_t{-1})) == "-1");
    CHECK(describe_index(only(-1)) == "-1");
    CHECK(describe_index(only(std::int64_t{-5})) == "-5");
    CHECK(only(-1) > 9'223'372'036'854'775'807U);
}

TEST_CASE("an endless range is an endless epoch", "[sampler]") {
    const auto source = sampler{std::views::iota(0)}.make_source(2, false);
    CHECK_FALSE(source->length().has_value());
    std::vector<index> indices;
    source->begin(0);
    for (int batch = 0; batch < 1'000; ++batch) {
        REQUIRE(source->next(indices));
    }
    CHECK(indices == std::vector<index>{1998, 1999});
}

TEST_CASE("what a range throws ends its epoch, and the next one is whole", "[sampler]") {
    bool broken = true;
    const auto source = sampler{
        std::views::iota(0, 4) | std::views::transform([&broken](int value) {
            return broken && value == 2 ? throw std::runtime_error{"lost"} : value;
        })}.make_source(2, false);
    std::vector<index> indices;
    source->begin(0);
    REQUIRE(source->next(indices));
    CHECK_THROWS_AS(source->next(indices), std::runtime_error);
    CHECK_FALSE(source->next(indices));
    broken = false;
    CHECK(epoch_of(*source, 1) == lists{{0, 1}, {2, 3}});
}

TEST_CASE("a source is empty before its first epoch, and refuses batches of none", "[sampler]") {
    const auto source = sampler{std::vector{1}}.make_source(1, false);
    std::vector<index> indices;
    CHECK_FALSE(source->next(indices));
    CHECK_THROWS_AS(sampler{std::vector{1}}.make_source(0, false), stoker::error);
}
