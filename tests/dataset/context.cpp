#include <stoker/dataset/context.hpp>
#include <type_traits>

#include "support/catch.hpp"

using stoker::context;

static_assert(!std::is_copy_constructible_v<context>);
static_assert(!std::is_copy_assignable_v<context>);
static_assert(std::is_nothrow_constructible_v<context, std::uint64_t, std::uint64_t, std::uint64_t,
                                              int, int>);

TEST_CASE("a context tells a sample where it stands", "[dataset]") {
    const context c{9, 2, 70, 3, 4};
    CHECK(c.epoch() == 2);
    CHECK(c.position() == 70);
    CHECK(c.worker() == 3);
    CHECK(c.num_workers() == 4);
}

TEST_CASE("a context's numbers depend on seed, epoch and position alone [B035]", "[dataset]") {
    context in_caller{9, 2, 70};
    context in_worker{9, 2, 70, 3, 7};
    context elsewhere{9, 2, 71, 3, 7};
    context later{9, 3, 70, 3, 7};
    context other_seed{10, 2, 70, 3, 7};
    const std::uint64_t drawn = in_caller.random();
    CHECK(in_worker.random() == drawn);
    CHECK(elsewhere.random() != drawn);
    CHECK(later.random() != drawn);
    CHECK(other_seed.random() != drawn);
    CHECK(stoker::random{9, 2, 70}() == drawn);
}
