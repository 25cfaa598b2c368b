#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <stoker/core/error.hpp>
#include <stoker/dataset/random.hpp>
#include <type_traits>
#include <vector>

#include "support/catch.hpp"

using stoker::random;

static_assert(std::uniform_random_bit_generator<stoker::random>);
static_assert(std::is_nothrow_copy_constructible_v<stoker::random>);
static_assert(!std::is_default_constructible_v<stoker::random>);

namespace {

/// Sum of (seen - expected)^2 / expected over cells that are equally likely.
double chi_square(const std::vector<std::uint64_t>& seen) {
    const auto total = std::accumulate(seen.begin(), seen.end(), std::uint64_t{0});
    const double expected = static_cast<double>(total) / static_cast<double>(seen.size());
    double sum = 0;
    for (const std::uint64_t count : seen) {
        const double off = static_cast<double>(count) - expected;
        sum += off * off / expected;
    }
    return sum;
}

/// Five deviations from the mean of chi-square: seeds are fixed, so this passes always or never.
bool looks_uniform(const std::vector<std::uint64_t>& seen) {
    const double freedom = static_cast<double>(seen.size() - 1);
    return std::abs(chi_square(seen) - freedom) < 5 * std::sqrt(2 * freedom) + 10;
}

stoker::errc code_of(auto&& draw) {
    try {
        draw();
    } catch (const stoker::error& failure) {
        return failure.code();
    }
    return stoker::errc{};
}

}  // namespace

TEST_CASE("the numbers of a sample never change between versions", "[dataset]") {
    stoker::random zero{0, 0, 0};
    stoker::random other{7, 3, 123'456'789'012};
    stoker::random free_standing{42};
    for (const std::uint64_t expected :
         {0x2401a0f0486e6563U, 0x5d81139e527efbb2U, 0x12ef97883f62adfdU, 0xc548b82ff7581fe1U}) {
        CHECK(zero() == expected);
    }
    for (const std::uint64_t expected :
         {0x50dab66430db42ddU, 0xb84cea7b278802a0U, 0xd97bf834947b5b25U, 0x1b27b686c1736192U}) {
        CHECK(other() == expected);
    }
    for (const std::uint64_t expected :
         {0xc53b3ab6f2ebb5aeU, 0xcfc4f868c669cfb4U, 0x70e30d4ffd5d3e2U, 0x47d0bdbb7204f706U}) {
        CHECK(free_standing() == expected);
    }
}

TEST_CASE("distributions give the same bits with every compiler", "[dataset]") {
    stoker::random c{1, 2, 3};
    CHECK(c.uniform() == 0x1.3acb99991476cp-1);
    CHECK(c.uniform(-15, 15) == 0x1.08f3f2b2b47fbp+1);
    CHECK(c.uniform(0.8F, 1.2F) == 0x1.2121280000000p+0F);
    CHECK(c.integer(0, 225) == 213);
    CHECK(c.integer(std::int64_t{-5'000'000'000}, std::int64_t{5'000'000'000}) == 3775184580);
    CHECK(c.coin(0.5) == true);
    CHECK(c.normal() == -0x1.9cdbeb00f5606p-1);
    CHECK(c.normal(10, 2) == 0x1.32e6e1edbd356p+3);
    std::vector<int> order{0, 1, 2, 3, 4, 5, 6, 7};
    c.shuffle(order);
    CHECK(order == std::vector<int>{2, 3, 4, 5, 0, 6, 7, 1});
}

TEST_CASE("no two samples, epochs or seeds share a stream [B034]", "[dataset]") {
    std::set<std::uint64_t> seen;
    std::size_t drawn = 0;
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
        for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
            for (std::uint64_t position = 0; position < 2'000; ++position) {
                stoker::random generator{seed, epoch, position};
                for (int draw = 0; draw < 5; ++draw, ++drawn) {
                    seen.insert(generator());
                }
            }
        }
    }
    CHECK(seen.size() == drawn);
}

TEST_CASE("seed and epoch are no sum: (1, 0) is not (0, 1)", "[dataset]") {
    CHECK(stoker::random{1, 0, 0}() != stoker::random{0, 1, 0}());
    CHECK(stoker::random{0, 1, 0}() != stoker::random{0, 0, 1}());
    CHECK(stoker::random{5}() != stoker::random{5, 0, 0}());
}

TEST_CASE("a generator does not depend on what other generators drew", "[dataset]") {
    stoker::random first{9, 1, 4};
    stoker::random noise{9, 1, 5};
    stoker::random second{9, 1, 4};
    for (int draw = 0; draw < 100; ++draw) {
        const std::uint64_t value = first();
        noise();
        noise.coin();
        CHECK(second() == value);
    }
    stoker::random copy = first;
    CHECK(copy() == first());
}

TEST_CASE("all bits of a draw are as often set as not, in streams and across them", "[dataset]") {
    constexpr int rounds = 20'000;
    std::array<int, 64> along{};
    std::array<int, 64> across{};
    stoker::random stream{3, 1, 4};
    for (int round = 0; round < rounds; ++round) {
        const std::uint64_t next = stream();
        const std::uint64_t first = stoker::random{3, 1, static_cast<std::uint64_t>(round)}();
        for (std::size_t bit = 0; bit < 64; ++bit) {
            along[bit] += static_cast<int>(next >> bit & 1U);
            across[bit] += static_cast<int>(first >> bit & 1U);
        }
    }
    const double slack = 5 * std::sqrt(rounds) / 2;
    for (std::size_t bit = 0; bit < 64; ++bit) {
        CAPTURE(bit);
        CHECK(std::abs(along[bit] - rounds / 2) < slack);
        CHECK(std::abs(across[bit] - rounds / 2) < slack);
    }
}

TEST_CASE("uniform stays in its half-open interval and fills it evenly", "[dataset]") {
    stoker::random c{1, 0, 0};
    std::vector<std::uint64_t> cells(50);
    for (int draw = 0; draw < 50'000; ++draw) {
        const double value = c.uniform(-3.0, 2.0);
        REQUIRE(value >= -3.0);
        REQUIRE(value < 2.0);
        ++cells[static_cast<std::size_t>((value + 3.0) * 10)];
    }
    CHECK(looks_uniform(cells));
    static_assert(std::is_same_v<decltype(c.uniform(0.F, 1.F)), float>);
    static_assert(std::is_same_v<decltype(c.uniform(0, 1)), double>);
    static_assert(std::is_same_v<decltype(c.uniform(0, 1.F)), double>);
    // Only rounding up could reach the upper bound here.
    const float one = 1.F;
    const float next = std::nextafter(one, 2.F);
    for (int draw = 0; draw < 1'000; ++draw) {
        REQUIRE(c.uniform(one, next) == one);
        REQUIRE(c.uniform(1.0, std::nextafter(1.0, 2.0)) == 1.0);
    }
    CHECK(c.uniform(4.0, 4.0) == 4.0);
}

TEST_CASE("integers of every type come evenly from their half-open interval", "[dataset]") {
    stoker::random c{2, 0, 0};
    for (const int count : {1, 2, 3, 6, 10, 37}) {
        std::vector<std::uint64_t> cells(static_cast<std::size_t>(count));
        for (int draw = 0; draw < 30'000; ++draw) {
            const int value = c.integer(-5, count - 5);
            REQUIRE(value >= -5);
            REQUIRE(value < count - 5);
            ++cells[static_cast<std::size_t>(value + 5)];
        }
        CAPTURE(count);
        CHECK(looks_uniform(cells));
    }
    static_assert(std::is_same_v<decltype(c.integer(0, std::size_t{4})), std::size_t>);
    CHECK(c.integer(std::int8_t{-128}, std::int8_t{-127}) == -128);
    CHECK(c.integer(std::numeric_limits<std::int64_t>::min(),
                    std::numeric_limits<std::int64_t>::max()) !=
          c.integer(std::numeric_limits<std::int64_t>::min(),
                    std::numeric_limits<std::int64_t>::max()));
}

TEST_CASE("no integer is favoured where words do not divide evenly", "[dataset]") {
    // 3 × 2^30 values of 2^32 words, and 3 × 2^62 of 2^64: without rejection one third of the
    // interval would come twice as often as each of the others.
    stoker::random c{3, 0, 0};
    std::vector<std::uint64_t> narrow(3);
    std::vector<std::uint64_t> wide(3);
    for (int draw = 0; draw < 30'000; ++draw) {
        const std::uint64_t small = c.integer(0, std::uint64_t{3} << 30U);
        const std::uint64_t large = c.integer(0, std::uint64_t{3} << 62U);
        ++narrow[static_cast<std::size_t>(small % 3)];
        ++wide[static_cast<std::size_t>(large % 3)];
    }
    CHECK(looks_uniform(narrow));
    CHECK(looks_uniform(wide));
    // Around the change from one word to two.
    for (const std::uint64_t count :
         {(std::uint64_t{1} << 32U) - 1, std::uint64_t{1} << 32U, (std::uint64_t{1} << 32U) + 1}) {
        std::vector<std::uint64_t> cells(16);
        for (int draw = 0; draw < 8'000; ++draw) {
            const std::uint64_t value = c.integer(0, count);
            REQUIRE(value < count);
            ++cells[static_cast<std::size_t>(value / (count / 16 + 1))];
        }
        CAPTURE(count);
        CHECK(looks_uniform(cells));
    }
}

TEST_CASE("a coin falls as often as it is told to", "[dataset]") {
    stoker::random c{4, 0, 0};
    for (const double probability : {0.01, 0.3, 0.5, 0.9}) {
        int heads = 0;
        constexpr int draws = 40'000;
        for (int draw = 0; draw < draws; ++draw) {
            heads += c.coin(probability) ? 1 : 0;
        }
        const double deviation = std::sqrt(draws * probability * (1 - probability));
        CAPTURE(probability);
        CHECK(std::abs(heads - draws * probability) < 5 * deviation);
    }
    for (int draw = 0; draw < 1'000; ++draw) {
        REQUIRE_FALSE(c.coin(0));
        REQUIRE(c.coin(1));
    }
}

TEST_CASE("normal draws follow the normal distribution into its tails", "[dataset]") {
    stoker::random c{5, 0, 0};
    constexpr int draws = 100'000;
    std::vector<double> values(draws);
    std::generate(values.begin(), values.end(), [&] { return c.normal(3, 2); });
    std::sort(values.begin(), values.end());
    double distance = 0;  // Kolmogorov and Smirnov's
    double squares = 0;
    for (int i = 0; i < draws; ++i) {
        const double z = (values[static_cast<std::size_t>(i)] - 3) / 2;
        const double expected = std::erfc(-z / std::sqrt(2.0)) / 2;
        distance = std::max(distance, std::abs(expected - (i + 0.5) / draws));
        squares += z * z;
    }
    CHECK(distance < 1.95 / std::sqrt(draws));
    CHECK(squares / draws == Approx(1).epsilon(0.02));
    CHECK(values.front() < 3 - 2 * 3.7);
    CHECK(values.back() > 3 + 2 * 3.7);
    CHECK(values.front() > 3 - 2 * 5.5);
    CHECK(c.normal(7, 0) == 7);
}

TEST_CASE("a shuffle makes every order equally likely", "[dataset]") {
    std::vector<std::uint64_t> seen(24);
    for (std::uint64_t position = 0; position < 24'000; ++position) {
        std::array<int, 4> items{0, 1, 2, 3};
        stoker::random{6, 0, position}.shuffle(items);
        std::size_t rank = 0;
        for (std::size_t i = 0; i < 4; ++i) {
            const auto smaller_later =
                std::count_if(items.begin() + static_cast<std::ptrdiff_t>(i), items.end(),
                              [&](int other) { return other < items[i]; });
            rank = rank * (4 - i) + static_cast<std::size_t>(smaller_later);
        }
        ++seen[rank];
    }
    CHECK(looks_uniform(seen));
    std::vector<int> none;
    stoker::random{6}.shuffle(none);
    std::vector<int> single{8};
    stoker::random{6}.shuffle(single);
    CHECK(single == std::vector<int>{8});
}

TEST_CASE("draws that make no sense are refused", "[dataset]") {
    stoker::random c{7, 0, 0};
    const double infinite = std::numeric_limits<double>::infinity();
    const double largest = std::numeric_limits<double>::max();
    const auto invalid = stoker::errc::invalid_option;
    CHECK(code_of([&] { c.uniform(2, 1); }) == invalid);
    CHECK(code_of([&] { c.uniform(2.F, 1.F); }) == invalid);
    CHECK(code_of([&] { c.uniform(0.0, infinite); }) == invalid);
    CHECK(code_of([&] { c.uniform(-largest, largest); }) == invalid);
    CHECK(code_of([&] { c.uniform(0.0, std::nan("")); }) == invalid);
    CHECK(code_of([&] { c.integer(3, 3); }) == invalid);
    CHECK(code_of([&] { c.integer(3, 2); }) == invalid);
    CHECK_THROWS_WITH(c.integer(std::int8_t{4}, std::int8_t{-3}),
                      Catch::Matchers::ContainsSubstring("integer(4, -3) needs low < high"));
    CHECK(code_of([&] { c.coin(1.1); }) == invalid);
    CHECK(code_of([&] { c.coin(std::nan("")); }) == invalid);
    CHECK(code_of([&] { c.normal(0, -1); }) == invalid);
    CHECK(code_of([&] { c.normal(infinite, 1); }) == invalid);
    // A draw that was refused took nothing.
    CHECK(c() == stoker::random{7, 0, 0}());
}
