#include <cstdint>
#include <stoker/core/error.hpp>
#include <stoker/tensor/shape.hpp>
#include <type_traits>

#include "support/catch.hpp"

namespace {

using stoker::dynamic;
using stoker::detail::shape_storage;

static_assert(std::is_empty_v<shape_storage<2, 3>>);
static_assert(sizeof(shape_storage<2, dynamic, 3>) == sizeof(std::size_t));
static_assert(shape_storage<2, 3>{}.size() == 6);
static_assert(shape_storage<dynamic, 3, dynamic>(4, 5).size() == 60);
static_assert(shape_storage<dynamic, 3, 2>{}.stride() == 6);
static_assert(shape_storage<4, 3, 2>{}.offset(2, 1, 1) == 15);

}  // namespace

TEST_CASE("Extents of the type and extents of run time make one shape, in order", "[tensor]") {
    const shape_storage<2, dynamic, 4, dynamic> shape(3, 5);
    CHECK(shape.extents() == std::array<std::size_t, 4>{2, 3, 4, 5});
    CHECK(shape.offset(1, 2, 3, 4) == 119);
    CHECK(shape.checked_size() == 120);
}

TEST_CASE("A contradiction names the axis, what was given and what the type says", "[tensor]") {
    using pairs = shape_storage<dynamic, 2>;
    try {
        const pairs wrong(7, 3);
        FAIL("was accepted with " << wrong.size());
    } catch (const stoker::error& error) {
        CHECK(error.text() == "axis 1 of a tensor is given 3, but its type says 2");
        CHECK(error.code() == stoker::errc::shape_mismatch);
    }
}
