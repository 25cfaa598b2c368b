#include <array>
#include <cstdint>
#include <stoker/collate/column.hpp>
#include <stoker/core/error.hpp>
#include <string>
#include <type_traits>

#include "support/catch.hpp"

namespace {

using stoker::dtype;
using stoker::detail::column;
using stoker::detail::column_kind;
using stoker::detail::column_record;
using stoker::detail::schema;
using stoker::detail::unknown_extent;

static_assert(std::is_trivially_copyable_v<column_record>, "workers write it into the slot");
static_assert(stoker::detail::align_up(0, 256) == 0 && stoker::detail::align_up(1, 256) == 256);
static_assert(stoker::detail::align_up(256, 256) == 256);

const schema digits{{column{"pixels", dtype::u8, 1, {8, 8}}, column{"label", dtype::i64, 8, {}},
                     column{"scale", dtype::f32, 4, {3}}}};

}  // namespace

TEST_CASE("Columns lie one after the other, each at a multiple of 256 bytes", "[collate]") {
    std::array<column_record, 3> records{};
    const std::uint64_t bytes = digits.lay_out(5, records.data());
    CHECK(records[0].offset == 0);
    CHECK(records[0].bytes == 320);
    CHECK(records[0].rank == 3);
    CHECK(records[0].extents == std::array<std::uint64_t, 8>{5, 8, 8});
    CHECK(records[1].offset == 512);
    CHECK(records[1].bytes == 40);
    CHECK(records[1].rank == 1);
    CHECK(records[1].extents == std::array<std::uint64_t, 8>{5});
    CHECK(records[2].offset == 768);
    CHECK(records[2].bytes == 60);
    CHECK(bytes == 828);
    CHECK(digits.batch_bytes(5) == 828);
}

TEST_CASE("A layout leaves nothing of what was in the records before", "[collate]") {
    std::array<column_record, 3> records{};
    for (column_record& each : records)
        each.extents.fill(99);
    digits.lay_out(2, records.data());
    CHECK(records[1].extents == std::array<std::uint64_t, 8>{2});
}

TEST_CASE("One extent that is not known makes a column and its schema not fixed", "[collate]") {
    CHECK(digits.fixed());
    schema ragged = digits;
    ragged.columns[2].extents[0] = unknown_extent;
    CHECK_FALSE(ragged.columns[2].fixed());
    CHECK(ragged.columns[0].fixed());
    CHECK_FALSE(ragged.fixed());
    CHECK(digits.columns[0].sample_bytes() == 64);
    CHECK(digits.columns[1].sample_bytes() == 8);
}

TEST_CASE("Bytes of a column follow from its extents, if there are so many", "[collate]") {
    const column values{"values", dtype::f32, 4, {3}, column_kind::values};
    column_record record{0, 0, 2, {5, 3}};
    set_bytes(record, values);
    CHECK(record.bytes == 60);
    record.extents = {0, 3};
    set_bytes(record, values);
    CHECK(record.bytes == 0);
    for (const std::uint64_t extent : {std::uint64_t{1} << 62, std::uint64_t{1} << 54}) {
        record.extents = {extent, 3};
        try {
            set_bytes(record, values);
            FAIL("was accepted");
        } catch (const stoker::error& error) {
            CHECK(error.code() == stoker::errc::batch_too_large);
            CHECK(error.text() ==
                  "column 'values' would have shape [" + std::to_string(extent) + ", 3]");
        }
    }
}

TEST_CASE("Columns whose bytes are known get places as in a layout", "[collate]") {
    std::array<column_record, 3> fixed{};
    const std::uint64_t bytes = digits.lay_out(5, fixed.data());
    std::array<column_record, 3> placed = fixed;
    for (column_record& each : placed)
        each.offset = 99;
    CHECK(place_columns(digits.columns, placed.data()) == bytes);
    for (std::size_t i = 0; i < placed.size(); ++i)
        CHECK(placed[i].offset == fixed[i].offset);
}

TEST_CASE("Only columns with a row a sample can be fixed", "[collate]") {
    column each{"each", dtype::i64, 8, {}};
    CHECK(each.fixed());
    each.kind = column_kind::lengths;
    CHECK(each.fixed());
    for (const auto kind : {column_kind::values, column_kind::offsets, column_kind::whole}) {
        each.kind = kind;
        CHECK_FALSE(each.fixed());
    }
}
