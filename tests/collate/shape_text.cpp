#include "collate/shape_text.hpp"

#include <array>
#include <cstdint>
#include <stoker/collate/column.hpp>

#include "support/catch.hpp"

TEST_CASE("A shape is written as PyTorch and NumPy users expect it", "[collate]") {
    using stoker::detail::shape_text;
    CHECK(shape_text({}) == "[]");
    CHECK(shape_text(std::array<std::uint64_t, 1>{7}) == "[7]");
    CHECK(shape_text(std::array<std::uint64_t, 3>{64, 8, 0}) == "[64, 8, 0]");
}

TEST_CASE("An extent that may be any is a question mark", "[collate]") {
    using stoker::detail::shape_text;
    CHECK(shape_text(std::array<std::uint64_t, 2>{stoker::detail::unknown_extent, 3}) == "[?, 3]");
}
