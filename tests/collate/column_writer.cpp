#include <stoker/collate/column_writer.hpp>

#include <array>
#include <cstdint>
#include <exception>
#include <functional>
#include <stdexcept>
#include <stoker/core/error.hpp>
#include <string>
#include <vector>

#include "collate/support.hpp"
#include "support/catch.hpp"

namespace {

using stoker::dtype;
using stoker::errc;
using stoker::detail::column;
using stoker::detail::column_kind;
using stoker::detail::column_record;
using stoker::detail::column_writer;
using stoker::detail::schema;
using stoker::detail::throw_collate_failed;
using stoker::detail::unknown_extent;
using stoker::test_support::test_memory;
using extents = std::vector<std::int64_t>;

const schema pair{{column{"tokens", dtype::i32, 4, {unknown_extent, 3}, column_kind::whole},
                   column{"mask", dtype::bool_, 1, {unknown_extent}, column_kind::whole}}};

struct writing {
    test_memory memory;
    std::array<column_record, 2> records{column_record{1, 2, 3, {}}, column_record{4, 5, 6, {}}};
    column_writer writer{pair, memory, records.data()};
};

/// The error that comes of this, as "code: text".
std::string error_of(const std::function<void(writing&)>& mistake) {
    writing w;
    try {
        mistake(w);
    } catch (const stoker::error& error) {
        return std::string(message(error.code())) + ": " + error.text();
    }
    return "no error";
}
std::string failed(const std::string& text) {
    return std::string(message(errc::collate_failed)) + ": " + text;
}

}  // namespace

TEST_CASE("Columns get memory once all have shapes", "[collate]") {
    writing w;
    w.writer.shape(1, extents{5});
    w.writer.shape(0, extents{9, 3});
    w.writer.shape(0, extents{2, 3});
    CHECK(w.memory.times_asked() == 0);
    CHECK(w.writer.place(1) == w.memory.start() + 256);
    CHECK(w.writer.place(0) == w.memory.start());
    CHECK(w.writer.finish() == 261);
    CHECK(w.memory.asked() == 261);
    CHECK(w.memory.times_asked() == 1);
    CHECK(w.records[0].bytes == 24);
    CHECK(w.records[0].extents == std::array<std::uint64_t, 8>{2, 3});
    CHECK(w.records[1].rank == 1);
}

TEST_CASE("A batch that nobody wrote to is laid out at the end", "[collate]") {
    writing w;
    w.writer.shape(0, extents{0, 3});
    w.writer.shape(1, extents{0});
    CHECK(w.writer.finish() == 0);
    CHECK(w.memory.times_asked() == 1);
}

TEST_CASE("Shapes that are missing, late or impossible are told with their member", "[collate]") {
    CHECK(error_of([](writing& w) {
              w.writer.shape(0, extents{2, 3});
              w.writer.place(0);
          }) == failed("no shape was declared for 'mask'"));
    CHECK(error_of([](writing& w) { w.writer.finish(); }) ==
          failed("no shape was declared for 'tokens'"));
    CHECK(error_of([](writing& w) {
              w.writer.shape(0, extents{2, 3});
              w.writer.shape(1, extents{2});
              w.writer.place(0);
              w.writer.shape(1, extents{3});
          }) == failed("the shape of 'mask' was declared after memory was asked for"));
    CHECK(error_of([](writing& w) { w.writer.shape(1, extents{-1}); }) ==
          failed("the extent of axis 0 of 'mask' is -1"));
    CHECK(error_of([](writing& w) {
              w.writer.shape(0, extents{2, 4});
          }) == failed("the extent of axis 1 of 'tokens' is 4, by its type it is 3"));
    CHECK(error_of([](writing& w) {
              w.writer.shape(0, extents{std::int64_t{1} << 62, 3});
          }) == std::string(message(errc::batch_too_large)) +
                    ": column 'tokens' would have shape [4611686018427387904, 3]");
}

TEST_CASE("What a collate threw keeps its text and type and blames no sample", "[collate]") {
    const auto thrown = [](auto exception) {
        try {
            throw_collate_failed(std::make_exception_ptr(exception));
        } catch (const stoker::error& error) {
            return error;
        }
    };
    const stoker::error plain = thrown(std::out_of_range("row 3"));
    CHECK(plain.code() == errc::collate_failed);
    CHECK(plain.text() == "row 3");
    CHECK(plain.type() == "std::out_of_range");
    CHECK_FALSE(plain.sample());
    CHECK(thrown(stoker::error(errc::sample_failed, "odd")).code() == errc::collate_failed);
    CHECK(thrown(stoker::error(errc::sample_failed, "odd")).text() == "odd");
    CHECK(thrown(stoker::error(errc::batch_too_large, "big")).code() == errc::batch_too_large);
    const stoker::error blaming =
        thrown(stoker::error({.code = errc::sample_failed, .text = "empty", .sample = 4}));
    CHECK(blaming.code() == errc::sample_failed);
    CHECK(blaming.sample() == 4u);
}
