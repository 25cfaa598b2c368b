#include "collate/layout_check.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <stoker/collate/collator.hpp>
#include <string>
#include <utility>
#include <vector>

#include "collate/support.hpp"
#include "support/catch.hpp"

namespace {

using stoker::dtype;
using stoker::dynamic;
using stoker::padded;
using stoker::ragged;
using stoker::tensor;
using stoker::detail::column;
using stoker::detail::column_kind;
using stoker::detail::column_record;
using stoker::detail::fits;
using stoker::detail::schema;
using stoker::detail::unknown_extent;
using stoker::test_support::test_batch;

struct box {
    float x;
    tensor<std::int16_t, 2> y;
};
struct sample {
    padded<std::int32_t, -1> tokens;          // columns 0 and 1
    ragged<box> boxes;                        // 2, 3 and, the offsets, 4
    std::string path;                         // 5 and 6
    tensor<std::uint8_t, dynamic, 3> pixels;  // 7
    std::int64_t label;                       // 8
};

sample sample_of(std::size_t n) {
    return {padded<std::int32_t, -1>(n), ragged<box>(n), std::string(n, 'x'),
            tensor<std::uint8_t, dynamic, 3>(4), 7};
}

/// A batch of three samples as it came from a worker, to be damaged.
class written_batch {
  public:
    written_batch() : bytes_(batch_.fetch({0, 1, 2})) {}

    bool accepted() {
        return fits(batch_.fetcher().columns(), 3, batch_.memory.start(), bytes_,
                    batch_.records.data());
    }
    column_record& record(std::size_t column) { return batch_.records[column]; }
    std::int64_t& number(std::size_t column, std::size_t at) {
        return reinterpret_cast<std::int64_t*>(batch_.memory.start() + record(column).offset)[at];
    }
    std::uint64_t& bytes() { return bytes_; }

  private:
    test_batch<std::vector<sample>> batch_{
        std::vector<sample>{sample_of(2), sample_of(0), sample_of(3)}};
    std::uint64_t bytes_;
};

/// Whether a batch that was damaged in this way is refused, and only then.
bool refused(const std::function<void(written_batch&)>& damage) {
    written_batch batch;
    const bool sound = batch.accepted();
    damage(batch);
    return sound && !batch.accepted();
}

}  // namespace

TEST_CASE("A layout is accepted as it was written", "[collate]") {
    written_batch batch;
    CHECK(batch.accepted());
}

TEST_CASE("Records that do not fit the schema are refused", "[collate]") {
    using batch = written_batch;
    CHECK(refused([](batch& b) { b.record(7).rank = 2; }));
    CHECK(refused([](batch& b) { b.record(7).rank = ~std::uint64_t{0}; }));
    CHECK(refused([](batch& b) { b.record(7).extents[2] = 2; }));
    CHECK(refused([](batch& b) { b.record(8).extents[0] = 2; }));
    CHECK(refused([](batch& b) { b.record(0).extents[0] = 4; }));
    CHECK(refused([](batch& b) { b.record(1).extents[0] = 2; }));
    CHECK(refused([](batch& b) { b.record(4).extents[0] = 3; }));
    CHECK(refused([](batch& b) { b.record(6).extents[0] = 0; }));
    CHECK(refused([](batch& b) { b.record(3).extents[1] = 3; }));
}

TEST_CASE("Columns outside of the batch are refused", "[collate]") {
    using batch = written_batch;
    CHECK(refused([](batch& b) { b.record(2).offset += 8; }));
    CHECK(refused([](batch& b) { b.record(2).offset = std::uint64_t{1} << 40; }));
    CHECK(refused([](batch& b) { b.record(8).bytes = 256; }));
    CHECK(refused([](batch& b) { b.record(8).bytes = 23; }));
    CHECK(refused([](batch& b) { b.record(7).extents[1] = 5; }));
    CHECK(refused([](batch& b) { b.record(7).extents[1] = std::uint64_t{1} << 62; }));
    CHECK(refused([](batch& b) { b.bytes() -= 1; }));
}

TEST_CASE("Lengths beyond the padded extent are refused", "[collate]") {
    using batch = written_batch;
    CHECK(refused([](batch& b) { b.number(1, 2) = 4; }));
    CHECK(refused([](batch& b) { b.number(1, 0) = -1; }));
    CHECK_FALSE(refused([](batch& b) { b.number(1, 1) = 3; }));
}

TEST_CASE("Offsets that are no division of their values are refused", "[collate]") {
    using batch = written_batch;
    for (const std::size_t offsets : {std::size_t{4}, std::size_t{6}}) {
        CHECK(refused([&](batch& b) { b.number(offsets, 0) = 1; }));
        CHECK(refused([&](batch& b) { b.number(offsets, 0) = -1; }));
        CHECK(refused([&](batch& b) { b.number(offsets, 1) = 6; }));
        CHECK(refused([&](batch& b) { b.number(offsets, 2) = 1; }));
        CHECK(refused([&](batch& b) { b.number(offsets, 3) = 4; }));
        CHECK(refused([&](batch& b) { b.number(offsets, 3) = 6; }));
        CHECK_FALSE(refused([&](batch& b) { b.number(offsets, 1) = 5, b.number(offsets, 2) = 5; }));
    }
    CHECK(refused([](batch& b) { b.record(2).extents[0] = 4; }));
    CHECK(refused([](batch& b) { b.record(3).extents[0] = 6; }));
}

TEST_CASE("Columns of a custom collate have the extents they declare, of any number", "[collate]") {
    column mask{"mask", dtype::u8, 1, {unknown_extent, 3}, column_kind::whole};
    const schema whole{{mask}};
    CHECK_FALSE(whole.fixed());
    column_record record{0, 6, 2, {2, 3}};
    CHECK(fits(whole, 7, nullptr, 6, &record));
    record.extents[1] = 2;
    CHECK_FALSE(fits(whole, 7, nullptr, 6, &record));
    record.extents = {3, 3};
    CHECK_FALSE(fits(whole, 7, nullptr, 6, &record));
}
