#include "sampler/permutation.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <type_traits>
#include <vector>

#include "support/catch.hpp"

using stoker::index;
using stoker::detail::permutation;

static_assert(std::is_nothrow_copy_assignable_v<permutation>);
static_assert(std::is_trivially_copyable_v<permutation>);

namespace {

std::vector<index> order_of(std::uint64_t size, std::uint64_t seed, std::uint64_t epoch) {
    const permutation order{size, seed, epoch};
    std::vector<index> indices(size);
    std::uint64_t position = 0;
    for (index& each : indices) {
        each = order(position++);
    }
    return indices;
}

bool is_permutation_of_all(const std::vector<index>& indices) {
    std::vector<bool> seen(indices.size());
    for (const index each : indices) {
        if (each >= seen.size() || seen[each]) {
            return false;
        }
        seen[each] = true;
    }
    return true;
}

/// Whether counts of cells that are equally likely are within five deviations of chi-square.
bool looks_uniform(const std::vector<std::uint64_t>& seen) {
    const auto total = std::accumulate(seen.begin(), seen.end(), std::uint64_t{0});
    const double expected = static_cast<double>(total) / static_cast<double>(seen.size());
    double sum = 0;
    for (const std::uint64_t count : seen) {
        const double off = static_cast<double>(count) - expected;
        sum += off * off / expected;
    }
    const double freedom = static_cast<double>(seen.size() - 1);
    return std::abs(sum - freedom) < 5 * std::sqrt(2 * freedom) + 10;
}

}  // namespace

TEST_CASE("orders never change between versions", "[sampler]") {
    // Computed by an independent program from the description in permutation.hpp.
    CHECK(order_of(10, 0, 0) == std::vector<index>{5, 1, 9, 8, 2, 7, 0, 6, 3, 4});
    CHECK(order_of(10, 0, 1) == std::vector<index>{5, 8, 6, 7, 1, 3, 9, 2, 4, 0});
    CHECK(order_of(5, 7, 3) == std::vector<index>{2, 3, 4, 0, 1});
    const permutation large{1'000'000'000, 42, 1};
    const std::vector<index> expected{158262196, 735492339, 66063020, 677133845, 489256060,
                                      193596124, 848906793, 78810286, 848729165};
    for (std::size_t position = 0; position < expected.size(); ++position) {
        CHECK(large(position * 111'111'111) == expected[position]);
    }
    const permutation largest{~std::uint64_t{0}, 1, 2};
    CHECK(largest(0) == 5740545387118751425U);
    CHECK(largest(~std::uint64_t{0} - 1) == 12354682509394745980U);
}

TEST_CASE("every index comes exactly once, whatever the size", "[sampler]") {
    std::vector<std::uint64_t> sizes(300);
    std::iota(sizes.begin(), sizes.end(), 0U);
    for (std::uint64_t power = 512; power <= (1U << 20U); power *= 2) {
        sizes.insert(sizes.end(), {power - 1, power, power + 1});
    }
    sizes.insert(sizes.end(), {1'000, 1'797, 60'000, 999'983, 1'000'000});
    for (const std::uint64_t size : sizes) {
        CAPTURE(size);
        REQUIRE(is_permutation_of_all(order_of(size, 3, size)));
    }
}

TEST_CASE("seeds and epochs give different orders, and no sum of them", "[sampler]") {
    std::vector<std::vector<index>> orders;
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
        for (std::uint64_t epoch = 0; epoch < 6; ++epoch) {
            orders.push_back(order_of(100, seed, epoch));
        }
    }
    std::sort(orders.begin(), orders.end());
    CHECK(std::adjacent_find(orders.begin(), orders.end()) == orders.end());
    CHECK(order_of(100, 5, 2) == order_of(100, 5, 2));
}

TEST_CASE("all orders of a small set are equally likely", "[sampler]") {
    for (const std::uint64_t size : {2U, 3U, 4U, 5U, 6U}) {
        std::map<std::vector<index>, std::uint64_t> seen;
        std::vector<index> each(size);
        std::iota(each.begin(), each.end(), 0U);
        do {
            seen[each] = 0;
        } while (std::next_permutation(each.begin(), each.end()));
        for (std::uint64_t epoch = 0; epoch < 500 * seen.size(); ++epoch) {
            ++seen.at(order_of(size, 1, epoch));
        }
        std::vector<std::uint64_t> counts;
        for (const auto& [order, count] : seen) {
            counts.push_back(count);
        }
        CAPTURE(size);
        CHECK(looks_uniform(counts));
    }
}

TEST_CASE("every index is equally likely at every position", "[sampler]") {
    for (const std::uint64_t size : {7U, 8U, 15U, 16U, 17U, 33U, 64U}) {
        std::vector<std::uint64_t> seen(size * size);
        for (std::uint64_t epoch = 0; epoch < 200 * size; ++epoch) {
            const permutation order{size, 2, epoch};
            for (std::uint64_t position = 0; position < size; ++position) {
                ++seen[position * size + order(position)];
            }
        }
        // Rows and columns have fixed sums: as many cells as have freedom are judged.
        std::vector<std::uint64_t> free_cells;
        for (std::uint64_t row = 0; row + 1 < size; ++row) {
            for (std::uint64_t column = 0; column + 1 < size; ++column) {
                free_cells.push_back(seen[row * size + column]);
            }
        }
        CAPTURE(size);
        CHECK(looks_uniform(free_cells));
    }
}

TEST_CASE("every pair of neighbours is equally likely", "[sampler]") {
    for (const std::uint64_t size : {5U, 9U, 13U, 16U, 20U}) {
        for (const std::uint64_t apart : {std::uint64_t{1}, size / 2}) {
            std::vector<std::uint64_t> seen(size * (size - 1));
            for (std::uint64_t epoch = 0; epoch < 100 * seen.size(); ++epoch) {
                const permutation order{size, 3, epoch};
                const index first = order(0);
                const index second = order(apart);
                ++seen[first * (size - 1) + second - (second > first ? 1 : 0)];
            }
            CAPTURE(size, apart);
            CHECK(looks_uniform(seen));
        }
    }
}

TEST_CASE("an order of many shows no trace of the plain one", "[sampler]") {
    constexpr std::uint64_t size = 100'000;
    const std::vector<index> order = order_of(size, 4, 0);
    std::vector<std::uint64_t> steps(100);
    std::vector<std::uint64_t> places(100);
    std::uint64_t in_place = 0;
    double correlation = 0;
    for (std::uint64_t position = 0; position < size; ++position) {
        const index here = order[position];
        const index next = order[(position + 1) % size];
        in_place += here == position ? 1 : 0;
        ++steps[(next + size - here) % size / (size / 100)];
        // Indices of the first tenth of positions, by the hundredth they are from.
        places[here / (size / 100)] += position < size / 10 ? 1 : 0;
        correlation += (static_cast<double>(here) / size - 0.5) *
                       (static_cast<double>(next) / size - 0.5) * 12 / size;
    }
    CHECK(in_place < 8);
    CHECK(looks_uniform(steps));
    CHECK(looks_uniform(places));
    CHECK(std::abs(correlation) < 5 / std::sqrt(static_cast<double>(size)));
}
