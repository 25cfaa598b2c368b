#include <stoker/device/dlpack_abi.hpp>

#include "support/catch.hpp"

using namespace stoker;

TEST_CASE("each type of element has the code and the bits that DLPack gives it") {
    struct expectation {
        dtype type;
        int code;
        int bits;
    };
    const expectation table[] = {{dtype::bool_, 6, 8}, {dtype::u8, 1, 8},    {dtype::i8, 0, 8},
                                 {dtype::u16, 1, 16},  {dtype::i16, 0, 16},  {dtype::u32, 1, 32},
                                 {dtype::i32, 0, 32},  {dtype::u64, 1, 64},  {dtype::i64, 0, 64},
                                 {dtype::f16, 2, 16},  {dtype::bf16, 4, 16}, {dtype::f32, 2, 32},
                                 {dtype::f64, 2, 64}};
    for (const expectation& each : table) {
        const dl_data_type given = detail::dl_type_of(each.type);
        CAPTURE(name_of(each.type));
        CHECK(static_cast<int>(given.code) == each.code);
        CHECK(given.bits == each.bits);
        CHECK(given.lanes == 1);
    }
}

TEST_CASE("the structs lie in memory as DLPack's do") {
    STATIC_REQUIRE(offsetof(dl_managed_tensor, manager) == 8);
    STATIC_REQUIRE(offsetof(dl_managed_tensor, deleter) == 16);
    STATIC_REQUIRE(offsetof(dl_managed_tensor, flags) == 24);
    STATIC_REQUIRE(offsetof(dl_tensor, device) == 8);
    STATIC_REQUIRE(offsetof(dl_tensor, rank) == 16);
    STATIC_REQUIRE(offsetof(dl_tensor, type) == 20);
    STATIC_REQUIRE(offsetof(dl_tensor, shape) == 24);
    STATIC_REQUIRE(offsetof(dl_tensor, strides) == 32);
    STATIC_REQUIRE(sizeof(dl_data_type) == 4);
    STATIC_REQUIRE(sizeof(dl_device) == 8);
}
