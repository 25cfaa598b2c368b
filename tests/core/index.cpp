#include <limits>
#include <stoker/core/index.hpp>

#include "support/catch.hpp"

using stoker::index;
using stoker::detail::describe_index;

TEST_CASE("an index is described as its giver wrote it", "[core]") {
    CHECK(describe_index(0) == "0");
    CHECK(describe_index(42) == "42");
    CHECK(describe_index(static_cast<index>(-1)) == "-1");
    CHECK(describe_index(static_cast<index>(std::numeric_limits<std::int64_t>::max())) ==
          "9223372036854775807");
    CHECK(describe_index(static_cast<index>(std::numeric_limits<std::int64_t>::min())) ==
          "-9223372036854775808");
}
