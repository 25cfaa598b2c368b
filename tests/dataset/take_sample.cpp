// What map, concat, subset and random_split make of datasets with coroutines and batches.

#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <stoker/core/error.hpp>
#include <stoker/dataset/concat.hpp>
#include <stoker/dataset/map.hpp>
#include <stoker/dataset/subset.hpp>
#include <stoker/dataset/take_sample.hpp>
#include <stoker/sampler/random_split.hpp>
#include <vector>

#include "dataset/awaiting.hpp"
#include "dataset/composed.hpp"
#include "support/catch.hpp"

using namespace stoker;
using namespace stoker::test_dataset;
using values = std::vector<std::int64_t>;

namespace {

counted twice(const counted& one) {
    return {one.alive, 2 * one.value};
}
counted add_position(counted one, context& c) {
    one.value += static_cast<std::int64_t>(1000 * c.position());
    return one;
}
asio::awaitable<counted> twice_later(counted one) {
    co_await waiting::turn();
    one.value *= 2;
    co_return one;
}
asio::awaitable<counted> add_position_later(counted one, context& c) {
    co_await waiting::turn();
    one.value += static_cast<std::int64_t>(1000 * c.position());
    co_return one;
}
std::vector<counted> stored() {
    return {make_counted(7), make_counted(8)};
}

template <class D>
constexpr bool waits = dataset_traits<D>::waits;

}  // namespace

TEST_CASE("Maps of coroutines, and coroutines as maps, are awaited", "[dataset]") {
    const std::vector<stoker::index> all{0, 1};
    static_assert(waits<decltype(waiting{} | map(twice))>);
    static_assert(waits<decltype(stored() | map(twice_later))>);
    CHECK(awaited_values(waiting{} | map(twice), all) == values{0, 2});
    CHECK(awaited_values(waiting{} | map(twice_later), all) == values{0, 2});
    CHECK(awaited_values(waiting{} | map(add_position_later), all) == values{0, 1001});
    CHECK(awaited_values(waiting_with_context{} | map(twice), all) == values{0, 202});
    CHECK(awaited_values(stored() | map(twice_later), all) == values{14, 16});
    CHECK(awaited_values(stored() | map(add_position_later) | map(twice), all) == values{14, 2016});
    CHECK(none_alive());
    int opened = 0;
    auto mapped = waiting{&opened} | map(twice);
    run(mapped.open());
    CHECK(opened == 1);
}

TEST_CASE("A map of a batched dataset maps its batches", "[dataset]") {
    int calls = 0;
    const std::vector<stoker::index> all{4, 0, 4};
    CHECK(awaited_values(batched{&calls} | map(twice), all) == values{8, 0, 8});
    CHECK(awaited_values(batched{&calls} | map(add_position), all) == values{4, 1000, 2004});
    CHECK(awaited_values(batched{&calls} | map(add_position_later), all) == values{4, 1000, 2004});
    CHECK(calls == 3);
    CHECK(awaited_values(batched_with_context{&calls} | map(twice), all) == values{8, 200, 408});
    CHECK(awaited_values(batched_waiting{} | map(twice_later), all) == values{8, 0, 8});
    CHECK(none_alive());
}

TEST_CASE("Subsets of coroutines and of batches are used as their datasets are", "[dataset]") {
    int calls = 0;
    int opened = 0;
    auto few = subset(waiting{&opened}, {4, 3, 3});
    static_assert(waits<decltype(few)>);
    CHECK(awaited_values(few, {0, 2}) == values{4, 3});
    run(few.open());
    CHECK(opened == 1);
    CHECK(awaited_values(subset(waiting_with_context{}, {4, 3}), {0, 1}) == values{4, 103});
    CHECK(awaited_values(subset(batched{&calls}, {4, 3, 3}), {2, 0}) == values{3, 4});
    CHECK(calls == 1);
    CHECK(awaited_values(subset(batched_with_context{&calls}, {4, 3}), {1, 0}) == values{3, 104});
    CHECK(awaited_values(subset(batched_waiting{}, {4, 3, 2}), {2, 0}) == values{2, 4});
    CHECK(refusal([&] { awaited_values(subset(batched{&calls}, {4}), {1}); }) ==
          "index 1 is out of range: the dataset has 1 sample");
    CHECK(none_alive());
}

TEST_CASE("Coroutines are joined with datasets of any other kind", "[dataset]") {
    int opened = 0;
    auto joined = concat(waiting{&opened}, stored(), waiting_with_context{});
    static_assert(waits<decltype(joined)>);
    CHECK(awaited_values(joined, {4, 5, 6, 7}) == values{4, 7, 8, 300});
    run(joined.open());
    CHECK(opened == 1);
    struct waiting_rows {
        int size() const { return 2; }
        asio::awaitable<void> read(stoker::index i, row<number> place) const {
            co_await waiting::turn();
            place[&number::value] = static_cast<std::int64_t>(10 + i);
        }
    };
    auto rows = concat(waiting_rows{}, numbers{2}, drawn_rows{});
    static_assert(dataset_traits<decltype(rows)>::reads && waits<decltype(rows)>);
    values found;
    for (stoker::index i = 0; i < 5; ++i) {
        context c{1, 0, i};
        number made{};
        std::byte* place = reinterpret_cast<std::byte*>(&made);
        run(rows.read(i, row<number>(&place, 0), c));
        found.push_back(made.value);
    }
    CHECK(found == values{10, 11, 0, 1, 400});
    auto mapped_rows = rows | map([](const number& n) { return make_counted(n.value); });
    CHECK(awaited_values(mapped_rows, {1, 2}) == values{11, 0});
    CHECK(life.use_count() == 3);  // but those that are stored
}

TEST_CASE("Each joined dataset gets its share of a batch by one call", "[dataset]") {
    int first = 0;
    int second = 0;
    auto joined = concat(batched{&first}, stored(), batched{&second});
    static_assert(!waits<decltype(joined)>);
    CHECK(awaited_values(joined, {8, 0, 5, 9, 1}) == values{1, 0, 7, 2, 1});
    CHECK(first == 1);
    CHECK(second == 1);
    CHECK(awaited_values(concat(batched{&first}, batched_waiting{}, waiting_with_context{}),
                         {11, 2, 8}) == values{1, 2, 3});
    CHECK(life.use_count() == 3);  // but those that are stored
}

TEST_CASE("A batch's context stays with its samples when datasets are joined", "[dataset]") {
    int calls = 0;
    auto joined = concat(batched_with_context{&calls}, waiting_with_context{});
    CHECK(awaited_values(joined, {1, 7, 2, 3, 6}) == values{1, 102, 202, 303, 401});
    CHECK(calls == 2);  // 1 by itself, 2 and 3 together
    CHECK(none_alive());
}

TEST_CASE("The parts of a split of coroutines open their dataset once", "[dataset]") {
    int opened = 0;
    auto [train, val] = random_split(waiting{&opened}, {3, 2});
    run(train.open());
    run(val.open());
    CHECK(opened == 1);
    const auto kept = awaited_values(train, {0, 1, 2});
    const auto held_out = awaited_values(val, {0, 1});
    CHECK(std::set<std::int64_t>(kept.begin(), kept.end()).size() == 3);
    CHECK(kept != held_out);
    CHECK(none_alive());
}

TEST_CASE("A batch of another size than was asked for is an error in a map, too", "[dataset]") {
    struct short_batches {
        int size() const { return 5; }
        std::vector<counted> get(std::span<const stoker::index>) const { return stored(); }
    };
    CHECK(refusal([] {
              awaited_values(short_batches{} | map(twice), {0, 1, 2});
          }) == "get(span of indices) was asked for 3 samples and gave 2");
}
