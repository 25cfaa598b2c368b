#include "device/prepare_launch.hpp"
#include "support/catch.hpp"

TEST_CASE("a library that was built without nvcc has no kernels to launch") {
    CHECK(stoker::detail::image_launch() == nullptr);
    CHECK(stoker::detail::cast_launch() == nullptr);
}
