#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <set>
#include <stoker/core/error.hpp>
#include <stoker/dataset/concat.hpp>
#include <stoker/dataset/map.hpp>
#include <stoker/sampler/random_split.hpp>
#include <type_traits>
#include <vector>

#include "dataset/composed.hpp"
#include "support/catch.hpp"

using namespace stoker;
using namespace stoker::test_dataset;
using sizes = std::vector<std::uint64_t>;
using Catch::Matchers::StartsWith;

namespace {

sizes fraction_sizes(std::vector<double> fractions, std::uint64_t size) {
    return detail::split_sizes(fractions, 1e-9, size);
}
sizes count_sizes(std::vector<stoker::index> counts, std::uint64_t size) {
    return detail::split_sizes(counts, size);
}

}  // namespace

TEST_CASE("Parts have every sample once between them", "[sampler]") {
    for (const std::size_t size : {0UL, 1UL, 2UL, 3UL, 10UL, 1797UL}) {
        auto [train, val, test] = random_split(numbers{size}, {0.7, 0.2, 0.1}, 3);
        std::multiset<std::int64_t> all;
        for (auto* part : {&train, &val, &test}) {
            for (const std::int64_t value : values_of(*part))
                all.insert(value);
        }
        std::vector<std::int64_t> expected(size);
        std::iota(expected.begin(), expected.end(), 0);
        CHECK(std::vector(all.begin(), all.end()) == expected);
    }
}

TEST_CASE("Fractions are counted as PyTorch counts them", "[sampler]") {
    CHECK(fraction_sizes({0.8, 0.2}, 1797) == sizes{1438, 359});
    CHECK(fraction_sizes({0.5, 0.5}, 5) == sizes{3, 2});
    CHECK(fraction_sizes({0.3, 0.3, 0.4}, 10) == sizes{3, 3, 4});
    CHECK(fraction_sizes({0.29, 0.71}, 100) == sizes{29, 71});  // 28 and 70, then one each
    CHECK(fraction_sizes({0.33, 0.33, 0.34}, 101) == sizes{34, 33, 34});
    CHECK(fraction_sizes({0.8, 0.2}, 3) == sizes{3, 0});
    CHECK(fraction_sizes({1.0}, 7) == sizes{7});
    CHECK(fraction_sizes({0.0, 1.0}, 7) == sizes{0, 7});
    CHECK(fraction_sizes(std::vector<double>(10, 0.1), 23) == sizes{3, 3, 3, 2, 2, 2, 2, 2, 2, 2});
    CHECK(fraction_sizes({0.5, 0.5}, 0) == sizes{0, 0});
}

TEST_CASE("Fractions of sets of any size leave nothing out", "[sampler]") {
    for (const std::uint64_t size : {std::uint64_t{1} << 53, (std::uint64_t{1} << 62) + 1,
                                     std::numeric_limits<std::uint64_t>::max()}) {
        for (const auto& fractions : {std::vector{0.8, 0.2}, std::vector{0.1, 0.2, 0.7}}) {
            const sizes found = fraction_sizes(fractions, size);
            CHECK(std::accumulate(found.begin(), found.end(), std::uint64_t{0}) == size);
        }
    }
}

TEST_CASE("Fractions must sum to 1, and the error names the sum", "[sampler]") {
    CHECK_THAT(refusal([] {
                   random_split(numbers{10}, {0.8, 0.3});
               }),
               StartsWith("random_split: the fractions sum to 1.1, they must sum to 1"));
    CHECK_THAT(refusal([] {
                   random_split(numbers{10}, {0.5, 0.2});
               }),
               StartsWith("random_split: the fractions sum to 0.7,"));
    CHECK_THAT(refusal([] {
                   random_split(numbers{10}, {1.5, -0.5});
               }),
               StartsWith("random_split: a fraction is 1.5, it must be from 0 to 1"));
    const double nothing = std::numeric_limits<double>::quiet_NaN();
    CHECK_THAT(refusal([&] {
                   random_split(numbers{10}, {0.5, nothing});
               }),
               StartsWith("random_split: a fraction is nan"));
    CHECK(random_split(numbers{10}, {0.8F, 0.2F})[0].size() == 8);
    CHECK(random_split(numbers{10}, {1.0 / 3, 1.0 / 3, 1.0 / 3})[0].size() == 4);
}

TEST_CASE("Counts must sum to the dataset's size, and the error names both", "[sampler]") {
    CHECK(count_sizes({1400, 397}, 1797) == sizes{1400, 397});
    CHECK(count_sizes({0, 3}, 3) == sizes{0, 3});
    CHECK(refusal([] {
              random_split(numbers{1797}, {1400, 400});
          }) == "random_split: the counts sum to 1800, but the dataset has 1797 samples");
    CHECK(refusal([] {
              random_split(numbers{5}, {6, -1});
          }) == "random_split: a count is -1, it must be 0 or more");
    CHECK(refusal([] {
              count_sizes({INT64_MAX, INT64_MAX, 2}, 0);
          }) == "random_split: the counts sum to more than 2^64, but the dataset has 0 samples");
}

TEST_CASE("A seed decides the split, another one splits otherwise", "[sampler]") {
    const auto first_part = [](std::uint64_t seed) {
        return values_of(random_split(numbers{100}, {0.5, 0.5}, seed)[0]);
    };
    CHECK(first_part(7) == first_part(7));
    CHECK(first_part(7) != first_part(8));
    std::multiset<std::int64_t> sorted;
    for (const auto value : first_part(7))
        sorted.insert(value);
    CHECK(*sorted.rbegin() > 60);  // not just the first half
    CHECK(*sorted.begin() < 40);
    // Part of what users rely on: a split stays what it was from release to release.
    CHECK(values_of(random_split(numbers{10}, {4, 6}, 1)[0]) ==
          std::vector<std::int64_t>{8, 3, 4, 0});
}

TEST_CASE("Parts share one dataset, which is opened once in a process", "[sampler]") {
    int opened = 0;
    auto [train, val] = random_split(row_numbers{nullptr, &opened}, {3, 2});  // move-only
    static_assert(dataset_traits<std::remove_cvref_t<decltype(train)>>::reads);
    train.open();
    val.open();
    CHECK(opened == 1);
    auto both = concat(std::move(train), std::move(val));
    both.open();
    CHECK(opened == 1);
    CHECK(values_of(both).size() == 5);

    const auto shared = std::make_shared<std::vector<number>>(std::vector<number>(6));
    auto [one, other] = random_split(shared, {0.5, 0.5});
    CHECK(shared.use_count() == 3);
    auto [left, right] = random_split(std::make_unique<numbers>(numbers{6}), {5, 1});
    CHECK(left.size() == 5);
}

TEST_CASE("Parts can be mapped, each by itself", "[sampler]") {
    auto [train, val] = random_split(numbers{10}, {8, 2});
    auto changed = std::move(train) | map(doubled);
    CHECK(changed.size() == 8);
    for (const auto value : values_of(changed))
        CHECK(value % 2 == 0);
    CHECK(values_of(val).size() == 2);
}

TEST_CASE("A dataset whose opening failed is opened again", "[sampler]") {
    struct shy {
        int* tries;
        int size() const { return 2; }
        number get(stoker::index) const { return {}; }
        void open() {
            if (++*tries == 1)
                throw std::runtime_error("not yet");
        }
    };
    int tries = 0;
    auto [one, other] = random_split(shy{&tries}, {1, 1});
    CHECK_THROWS(one.open());
    other.open();
    one.open();
    CHECK(tries == 2);
}
