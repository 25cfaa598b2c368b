#include <stoker/device/dl_stream.hpp>

#include <cstdint>
#include <optional>
#include <string>

#include <stoker/core/error.hpp>
#include "device/cuda_table.hpp"
#include "support/catch.hpp"

using stoker::dl_stream;

TEST_CASE("streams are numbered as Python's protocol numbers them for CUDA") {
    CHECK(dl_stream::numbered(std::nullopt).handle() == stoker::detail::legacy_stream());
    CHECK(dl_stream::numbered(1).handle() == stoker::detail::legacy_stream());
    CHECK(dl_stream::numbered(2).handle() == stoker::detail::per_thread_stream());
    int anything = 0;
    auto* const stream = reinterpret_cast<CUstream_st*>(&anything);
    const dl_stream other =
        dl_stream::numbered(static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(stream)));
    CHECK(other.handle() == stream);
    CHECK(other.is_ordered());
    CHECK_FALSE(dl_stream::numbered(-1).is_ordered());
}

TEST_CASE("a number that may mean either default stream, or none, is refused") {
    for (const std::int64_t number : {std::int64_t{0}, std::int64_t{-2}}) {
        try {
            static_cast<void>(dl_stream::numbered(number));
            FAIL("it was taken");
        } catch (const stoker::error& refused) {
            CHECK(refused.code() == stoker::errc::invalid_option);
            CHECK_THAT(refused.what(), Catch::Contains("stream " + std::to_string(number)) &&
                                           Catch::Contains("per-thread"));
        }
    }
}
