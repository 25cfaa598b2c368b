#include "device/prepare_call.hpp"

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "device/prepare_launch.hpp"
#include "support/catch.hpp"

using namespace stoker;

TEST_CASE("a call runs its job on the host from a copy of its arguments") {
    const std::vector<std::uint16_t> tokens{1, 2, 65535};
    std::vector<std::int32_t> wide(3);
    detail::cast_job job;
    job.source = tokens.data();
    job.target = wide.data();
    job.rows = 1;
    job.row_size = job.source_row_size = 3;
    job.source_type = dtype::u16;
    job.target_type = dtype::i32;
    const detail::kernel_call call = detail::call_of(job);
    REQUIRE(call.argument_bytes == sizeof(job));
    std::vector<std::uint64_t> copy(sizeof(job) / 8);
    REQUIRE(copy.size() * 8 == sizeof(job));
    std::memcpy(copy.data(), call.arguments, call.argument_bytes);
    job = {};
    call.run(copy.data());
    CHECK(wide == std::vector<std::int32_t>{1, 2, 65535});
    CHECK(std::string(call.name).find("cast") != std::string::npos);
}

TEST_CASE("a call can be launched exactly where the library was built with kernels") {
    CHECK(detail::call_of(detail::image_job{}).launch == detail::image_launch());
    CHECK(detail::call_of(detail::cast_job{}).launch == detail::cast_launch());
    CHECK((detail::image_launch() == nullptr) == (detail::cast_launch() == nullptr));
    if (detail::image_launch() == nullptr)
        return;
    // Without a driver the runtime says so; a job that no variant makes is refused before that.
    detail::image_job unknown;
    unknown.channels = 2;
    CHECK(detail::image_launch()(&unknown, nullptr) != 0);
    detail::cast_job rounding;
    rounding.source_type = dtype::f32;
    CHECK(detail::cast_launch()(&rounding, nullptr) != 0);
}
