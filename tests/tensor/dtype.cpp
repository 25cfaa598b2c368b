#include <stoker/tensor/bf16.hpp>
#include <stoker/tensor/dtype.hpp>
#include <stoker/tensor/f16.hpp>
#include <string>

#include "support/catch.hpp"

namespace {

enum class kind : std::int16_t { plain };
enum class flag : bool { off, on };

static_assert(stoker::dtype_of<bool> == stoker::dtype::bool_);
static_assert(stoker::dtype_of<std::uint8_t> == stoker::dtype::u8);
static_assert(stoker::dtype_of<std::int8_t> == stoker::dtype::i8);
static_assert(stoker::dtype_of<std::uint16_t> == stoker::dtype::u16);
static_assert(stoker::dtype_of<std::int16_t> == stoker::dtype::i16);
static_assert(stoker::dtype_of<std::uint32_t> == stoker::dtype::u32);
static_assert(stoker::dtype_of<std::int32_t> == stoker::dtype::i32);
static_assert(stoker::dtype_of<std::uint64_t> == stoker::dtype::u64);
static_assert(stoker::dtype_of<long long> == stoker::dtype::i64);
static_assert(stoker::dtype_of<long> == stoker::dtype::i64);
static_assert(stoker::dtype_of<stoker::f16> == stoker::dtype::f16);
static_assert(stoker::dtype_of<stoker::bf16> == stoker::dtype::bf16);
static_assert(stoker::dtype_of<float> == stoker::dtype::f32);
static_assert(stoker::dtype_of<double> == stoker::dtype::f64);
static_assert(stoker::dtype_of<kind> == stoker::dtype::i16);
static_assert(stoker::dtype_of<flag> == stoker::dtype::bool_);
static_assert(!stoker::element<long double>);
static_assert(!stoker::element<int*>);
static_assert(!stoker::element<std::string>);
static_assert(stoker::size_of(stoker::dtype_of<stoker::f16>) == sizeof(stoker::f16));

}  // namespace

TEST_CASE("Each dtype has a size and a name of its own", "[tensor]") {
    const struct {
        stoker::dtype type;
        std::size_t bytes;
        const char* name;
    } expected[] = {
        {stoker::dtype::bool_, 1, "bool"}, {stoker::dtype::u8, 1, "u8"},
        {stoker::dtype::i8, 1, "i8"},      {stoker::dtype::u16, 2, "u16"},
        {stoker::dtype::i16, 2, "i16"},    {stoker::dtype::u32, 4, "u32"},
        {stoker::dtype::i32, 4, "i32"},    {stoker::dtype::u64, 8, "u64"},
        {stoker::dtype::i64, 8, "i64"},    {stoker::dtype::f16, 2, "f16"},
        {stoker::dtype::bf16, 2, "bf16"},  {stoker::dtype::f32, 4, "f32"},
        {stoker::dtype::f64, 8, "f64"},
    };
    for (const auto& each : expected) {
        CHECK(stoker::size_of(each.type) == each.bytes);
        CHECK(stoker::name_of(each.type) == each.name);
    }
}

TEST_CASE("A number that is no dtype has size 0 and says so", "[tensor]") {
    const auto damaged = static_cast<stoker::dtype>(200);
    CHECK(stoker::size_of(damaged) == 0);
    CHECK(stoker::name_of(damaged) == "unknown");
}
