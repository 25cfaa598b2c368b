#include <algorithm>
#include <memory>
#include <numeric>
#include <stoker/core/error.hpp>
#include <stoker/sampler/batch_count.hpp>
#include <stoker/sampler/default_source.hpp>
#include <vector>

#include "support/catch.hpp"

using stoker::index;
using stoker::detail::batch_count;
using stoker::detail::index_source;
using stoker::detail::make_default_source;

namespace {

std::vector<std::vector<index>> epoch_of(index_source& source, std::uint64_t epoch) {
    std::vector<std::vector<index>> batches;
    std::vector<index> indices;
    source.begin(epoch);
    while (source.next(indices)) {
        batches.push_back(indices);
    }
    return batches;
}

std::vector<index> joined(const std::vector<std::vector<index>>& batches) {
    std::vector<index> all;
    for (const auto& batch : batches) {
        all.insert(all.end(), batch.begin(), batch.end());
    }
    return all;
}

std::vector<index> first(std::uint64_t count) {
    std::vector<index> indices(count);
    std::iota(indices.begin(), indices.end(), index{0});
    return indices;
}

}  // namespace

TEST_CASE("without shuffle indices come in order", "[sampler]") {
    const auto source = make_default_source(10, 4, false, false, 1);
    const std::vector<std::vector<index>> expected{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9}};
    CHECK(epoch_of(*source, 0) == expected);
    CHECK(epoch_of(*source, 5) == expected);
    CHECK(epoch_of(*make_default_source(10, 4, false, true, 1), 0) ==
          std::vector<std::vector<index>>{{0, 1, 2, 3}, {4, 5, 6, 7}});
}

TEST_CASE("every size, batch size and drop_last gives each index at most once", "[sampler]") {
    for (const std::uint64_t size : {0U, 1U, 2U, 3U, 5U, 7U, 8U, 9U, 31U, 32U, 33U, 100U}) {
        for (const std::uint64_t batch_size : {1U, 2U, 3U, 7U, 8U, 32U, 1000U}) {
            for (const bool shuffle : {false, true}) {
                for (const bool drop_last : {false, true}) {
                    CAPTURE(size, batch_size, shuffle, drop_last);
                    const auto source =
                        make_default_source(size, batch_size, shuffle, drop_last, 3);
                    const auto batches = epoch_of(*source, 2);
                    REQUIRE(batches.size() == batch_count(size, batch_size, drop_last));
                    REQUIRE(source->length() == batches.size());
                    for (std::size_t number = 0; number < batches.size(); ++number) {
                        const bool last = number + 1 == batches.size();
                        const auto rest = size - number * batch_size;
                        REQUIRE(batches[number].size() ==
                                (last ? std::min(rest, batch_size) : batch_size));
                        REQUIRE(batches[number].size() <= source->largest_batch());
                    }
                    auto all = joined(batches);
                    std::sort(all.begin(), all.end());
                    if (drop_last) {
                        REQUIRE(all.size() == size / batch_size * batch_size);
                        REQUIRE(std::adjacent_find(all.begin(), all.end()) == all.end());
                        REQUIRE((all.empty() || all.back() < size));
                    } else {
                        REQUIRE(all == first(size));
                    }
                }
            }
        }
    }
}

TEST_CASE("a shuffle follows from seed and epoch alone [B037, B040]", "[sampler]") {
    const auto source = make_default_source(1797, 64, true, false, 7);
    const auto same = make_default_source(1797, 64, true, false, 7);
    const auto other = make_default_source(1797, 64, true, false, 8);
    const auto third = epoch_of(*source, 3);
    CHECK(epoch_of(*source, 4) != third);
    CHECK(epoch_of(*source, 3) == third);
    CHECK(epoch_of(*same, 3) == third);
    CHECK(epoch_of(*other, 3) != third);
    CHECK(joined(third) != first(1797));
    // The order does not depend on how it is cut into batches.
    CHECK(joined(epoch_of(*make_default_source(1797, 5, true, false, 7), 3)) == joined(third));
}

TEST_CASE("drop_last leaves other samples out in each shuffled epoch", "[sampler]") {
    const auto source = make_default_source(10, 4, true, true, 0);
    std::vector<bool> seen(10);
    for (std::uint64_t epoch = 0; epoch < 20; ++epoch) {
        for (const index each : joined(epoch_of(*source, epoch))) {
            seen[each] = true;
        }
    }
    CHECK(std::count(seen.begin(), seen.end(), true) == 10);
}

TEST_CASE("an epoch begins anew in its middle, and an ended one stays ended", "[sampler]") {
    const auto source = make_default_source(6, 2, false, false, 0);
    std::vector<index> indices;
    source->begin(0);
    REQUIRE(source->next(indices));
    REQUIRE(source->next(indices));
    source->begin(1);
    REQUIRE(source->next(indices));
    CHECK(indices == std::vector<index>{0, 1});
    REQUIRE(source->next(indices));
    REQUIRE(source->next(indices));
    CHECK_FALSE(source->next(indices));
    CHECK_FALSE(source->next(indices));
}

TEST_CASE("a warm list of indices is reused", "[sampler]") {
    const auto source = make_default_source(1'000'000'000'000, 64, true, false, 0);
    std::vector<index> indices;
    source->begin(0);
    REQUIRE(source->next(indices));
    const index* memory = indices.data();
    for (int batch = 0; batch < 1'000; ++batch) {
        REQUIRE(source->next(indices));
        REQUIRE(indices.data() == memory);
    }
}

TEST_CASE("a batch size beyond the dataset's size costs no memory", "[sampler]") {
    const auto source = make_default_source(3, std::uint64_t{1} << 40U, false, false, 0);
    CHECK(source->largest_batch() == 3U);
    CHECK(epoch_of(*source, 0) == std::vector<std::vector<index>>{{0, 1, 2}});
    CHECK(make_default_source(0, 8, true, false, 0)->largest_batch() == 1U);
    CHECK_THROWS_AS(make_default_source(3, 0, true, false, 0), stoker::error);
}
