#include <bit>
#include <cstdint>
#include <limits>
#include <tuple>
#include <type_traits>
#include <vector>

#include <stoker/tensor/bf16.hpp>
#include <stoker/tensor/f16.hpp>
#include "device/cast_body.hpp"
#include "device/kernel_memory.hpp"
#include "device/prepare_on_host.hpp"
#include "support/catch.hpp"

// The body that converts numbers against C++'s own conversions, one element at a time. Every
// comparison is of bits.

using stoker::bf16;
using stoker::dtype;
using stoker::dtype_of;
using stoker::f16;
using stoker::detail::bits_at;
using stoker::detail::can_cast;
using stoker::detail::cast_job;
using stoker::detail::numbers;
using stoker::detail::prepare_on_host;
using stoker::detail::source_memory;
using stoker::detail::target_memory;

namespace {

using all_types =
    std::tuple<bool, std::uint8_t, std::int8_t, std::uint16_t, std::int16_t, std::uint32_t,
               std::int32_t, std::uint64_t, std::int64_t, f16, bf16, float, double>;

template <class Source>
constexpr bool floats =
    std::is_floating_point_v<Source> || std::is_same_v<Source, f16> || std::is_same_v<Source, bf16>;

template <class Source>
float to_float(Source value) {
    if constexpr (std::is_same_v<Source, double>) {
        if (value != value) {  // sign and upper bits of the payload, quiet
            const auto bits = std::bit_cast<std::uint64_t>(value);
            return std::bit_cast<float>(static_cast<std::uint32_t>(
                (bits >> 63 << 31) | 0x7f800000u | 0x400000u | ((bits & 0xfffffffffffffu) >> 29)));
        }
    }
    return static_cast<float>(value);
}

template <class Source, class Target>
Target expected_of(Source value) {
    if constexpr (std::is_integral_v<Target>) {
        return static_cast<Target>(value);
    } else {
        return Target(to_float(value));
    }
}

template <class Source>
Source element_at(const std::vector<std::uint32_t>& memory, std::size_t at) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(memory.data());
    Source value;
    std::memcpy(&value, bytes + at * sizeof(Source), sizeof(Source));
    return value;
}

/// A job of random extents and offsets over random bits, checked element by element.
template <class Source, class Target>
void check_cast(numbers& random) {
    cast_job job;
    job.source_type = dtype_of<Source>;
    job.target_type = dtype_of<Target>;
    job.rows = static_cast<std::uint64_t>(random.between(1, 4));
    job.row_size = static_cast<std::uint64_t>(random.between(1, 21));
    job.source_row_size = static_cast<std::uint64_t>(random.between(1, 24));
    job.fill = random.between(-100, 100);
    const std::size_t elements = job.rows * job.source_row_size;
    std::vector<std::uint32_t> source = source_memory(random, elements * sizeof(Source));
    if (std::is_same_v<Source, bool>) {
        for (auto& word : source)
            word &= 0x01010101u;
    }
    std::vector<std::int32_t> offsets(job.rows);
    for (auto& offset : offsets) {
        offset = random.between(-3, static_cast<int>(job.source_row_size) + 2);
        if (random.between(0, 9) == 0)
            offset = random.coin() ? std::numeric_limits<std::int32_t>::min()
                                   : std::numeric_limits<std::int32_t>::max();
    }
    const bool own_offsets = random.coin();
    job.offset = own_offsets ? offsets.data() : nullptr;
    job.common_offset = random.coin() ? 0 : offsets[0];
    job.source = source.data();
    target_memory target(job.rows * job.row_size * sizeof(Target));
    job.target = target.data();
    REQUIRE(prepare_on_host(job));

    std::size_t wrong = 0;
    for (std::size_t row = 0; row < job.rows; ++row) {
        const std::int64_t offset = own_offsets ? offsets[row] : job.common_offset;
        for (std::size_t at = 0; at < job.row_size; ++at) {
            const std::int64_t from = offset + static_cast<std::int64_t>(at);
            const bool inside = from >= 0 && from < static_cast<std::int64_t>(job.source_row_size);
            auto expected = static_cast<Target>(static_cast<float>(job.fill));
            if (inside)
                expected = expected_of<Source, Target>(element_at<Source>(
                    source, row * job.source_row_size + static_cast<std::size_t>(from)));
            const auto* bits = reinterpret_cast<const std::uint8_t*>(&expected);
            wrong += bits_at(target.data(), row * job.row_size + at, sizeof(Target)) !=
                     bits_at(bits, 0, sizeof(Target));
        }
    }
    CAPTURE(stoker::name_of(job.source_type), stoker::name_of(job.target_type), job.row_size,
            job.source_row_size, own_offsets, job.common_offset);
    REQUIRE(wrong == 0);
    REQUIRE(target.margins_are_whole());
}

template <class Target, class... Sources>
void check_all_sources(numbers& random, std::tuple<Sources...>) {
    const auto check = [&]<class Source>(Source) {
        if constexpr (!(std::is_integral_v<Target> && floats<Source>)) {
            for (int repeat = 0; repeat < 40; ++repeat)
                check_cast<Source, Target>(random);
        }
    };
    (check(Sources{}), ...);
}

}  // namespace

TEST_CASE("numbers are converted and gathered with the bits of C++'s own conversions") {
    numbers random(11);
    check_all_sources<std::int32_t>(random, all_types{});
    check_all_sources<std::int64_t>(random, all_types{});
    check_all_sources<float>(random, all_types{});
    check_all_sources<f16>(random, all_types{});
    check_all_sources<bf16>(random, all_types{});
}

TEST_CASE("tokens of 16 bits are gathered as input and, one further, as target") {
    const std::vector<std::uint16_t> tokens{10, 65535, 12, 13, 14, 20, 21, 22, 23, 24};
    std::vector<std::int64_t> input(8);
    std::vector<std::int64_t> target(8);
    cast_job job;
    job.source = tokens.data();
    job.rows = 2;
    job.row_size = 4;
    job.source_row_size = 5;
    job.source_type = dtype::u16;
    job.target_type = dtype::i64;
    job.target = input.data();
    REQUIRE(prepare_on_host(job));
    job.target = target.data();
    job.common_offset = 1;
    REQUIRE(prepare_on_host(job));
    CHECK(input == std::vector<std::int64_t>{10, 65535, 12, 13, 20, 21, 22, 23});
    CHECK(target == std::vector<std::int64_t>{65535, 12, 13, 14, 21, 22, 23, 24});
}

TEST_CASE("NaNs of double keep their sign and are no infinity") {
    const std::vector<double> values{
        std::bit_cast<double>(0x7ff0000000000001u),  // signalling, its payload too low for a float
        std::bit_cast<double>(0xfff8000000000000u), std::numeric_limits<double>::infinity(), 1e300};
    std::vector<float> narrow(4);
    cast_job job;
    job.source = values.data();
    job.target = narrow.data();
    job.rows = 1;
    job.row_size = job.source_row_size = 4;
    job.source_type = dtype::f64;
    job.target_type = dtype::f32;
    REQUIRE(prepare_on_host(job));
    CHECK(std::bit_cast<std::uint32_t>(narrow[0]) == 0x7fc00000u);
    CHECK(std::bit_cast<std::uint32_t>(narrow[1]) == 0xffc00000u);
    CHECK(narrow[2] == std::numeric_limits<float>::infinity());
    CHECK(narrow[3] == std::numeric_limits<float>::infinity());
}

TEST_CASE("floating numbers are not made integers, and nothing is made u8 or double") {
    STATIC_REQUIRE(can_cast(dtype::u16, dtype::i64));
    STATIC_REQUIRE(can_cast(dtype::f64, dtype::f16));
    STATIC_REQUIRE_FALSE(can_cast(dtype::f32, dtype::i32));
    STATIC_REQUIRE_FALSE(can_cast(dtype::u8, dtype::u8));
    STATIC_REQUIRE_FALSE(can_cast(dtype::u8, dtype::f64));
    cast_job job;
    job.source_type = dtype::bf16;
    job.target_type = dtype::i64;
    CHECK_FALSE(prepare_on_host(job));
}
