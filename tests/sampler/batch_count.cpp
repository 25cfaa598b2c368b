#include <limits>
#include <stoker/core/error.hpp>
#include <stoker/sampler/batch_count.hpp>

#include "support/catch.hpp"

using stoker::detail::batch_count;

TEST_CASE("batches are counted with and without a smaller last one", "[sampler]") {
    struct row {
        std::uint64_t size, batch_size, all, full;
    };
    constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
    for (const row each : {row{0, 1, 0, 0}, row{0, 7, 0, 0}, row{1, 1, 1, 1}, row{1, 2, 1, 0},
                           row{7, 8, 1, 0}, row{8, 8, 1, 1}, row{9, 8, 2, 1}, row{10, 4, 3, 2},
                           row{1797, 64, 29, 28}, row{most, 1, most, most}, row{most, most, 1, 1},
                           row{most - 1, most, 1, 0}, row{most, 2, most / 2 + 1, most / 2}}) {
        CAPTURE(each.size, each.batch_size);
        CHECK(batch_count(each.size, each.batch_size, false) == each.all);
        CHECK(batch_count(each.size, each.batch_size, true) == each.full);
    }
}

TEST_CASE("batches of no samples are refused", "[sampler]") {
    CHECK_THROWS_AS(batch_count(10, 0, false), stoker::error);
    CHECK_THROWS_AS(stoker::detail::require_batch_size(0), stoker::error);
    CHECK_NOTHROW(stoker::detail::require_batch_size(1));
}
