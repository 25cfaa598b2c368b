#include "core/profile_range.hpp"
#include "support/catch.hpp"

TEST_CASE("without NVTX a range does nothing") {
    stoker::detail::profile_range one("one", 1);
    one.end();
    const stoker::detail::profile_range two("two", 2);
    SUCCEED();
}
