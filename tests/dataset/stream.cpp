#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <stoker/dataset/stream.hpp>
#include <string>
#include <type_traits>
#include <vector>

#include "support/catch.hpp"

namespace {

using stoker::context;
using stoker::dataset;
using stoker::stream;
using stoker::stream_traits;
using namespace stoker::detail;

struct line {
    std::int64_t number;
};

/// Gives optionals, positions of a type of its own.
struct plain_reader {
    int at = 0;
    std::optional<line> next() { return at < 3 ? std::optional(line{at++}) : std::nullopt; }
    unsigned position() const { return static_cast<unsigned>(at); }
};
struct plain {
    int shard_count() const { return 2; }
    plain_reader open(std::size_t, std::uint64_t position) const {
        return {static_cast<int>(position)};
    }
};
/// Gives pointers, takes contexts, is opened, and knows its size.
struct pointing_reader {
    const std::vector<line>* lines;
    std::size_t at;
    const line* next() { return nullptr; }
    const line* next(context& c) {
        c.random();
        return at < lines->size() ? &(*lines)[at++] : nullptr;
    }
    std::uint64_t position() { return at; }
};
struct pointing {
    std::vector<line> lines{{5}, {6}};
    int opened = 0;
    std::size_t shard_count() { return 1; }
    void open() { ++opened; }
    std::unique_ptr<pointing_reader> open(std::size_t, std::uint64_t position) {
        return std::make_unique<pointing_reader>(pointing_reader{&lines, position});
    }
    std::uint64_t size() const { return lines.size(); }
};
/// Random access comes first where there is both.
struct both : plain {
    std::size_t size() const { return 6; }
    line get(stoker::index i) const { return {static_cast<std::int64_t>(i)}; }
};
struct waiting_reader {
    bool next() { return true; }
};

static_assert(stream<plain> && stream<pointing> && stream<const plain&>);
static_assert(stream<std::shared_ptr<plain>> && stream<std::unique_ptr<pointing>>);
static_assert(!stream<both> && dataset<both>);
static_assert(!dataset<plain> && !dataset<pointing>);
static_assert(!stream<int> && !stream<plain_reader> && !stream<std::vector<line>>);
static_assert(std::is_same_v<stream_traits<plain>::sample, line>);
static_assert(std::is_same_v<stream_traits<std::shared_ptr<pointing>>::sample, line>);

using filtered = decltype(std::views::iota(0, 9) | std::views::filter([](int i) { return i > 2; }));
static_assert(stream<std::list<line>> && stream<filtered> && !stream<std::span<line>>);
static_assert(stream<std::shared_ptr<std::list<line>>>);
static_assert(stream<std::ranges::istream_view<int>>);
static_assert(stream<decltype(std::views::iota(0))>, "random access, but no size");
static_assert(std::is_same_v<stream_traits<filtered>::sample, int>);

}  // namespace

TEST_CASE("A reader is read and asked through one kind of call, whatever its own", "[dataset]") {
    plain source;
    CHECK(stream_access<plain>::shard_count(source) == 2);
    static_assert(!stream_access<plain>::sized && !stream_access<plain>::opens);
    auto reader = stream_access<plain>::open(source, 1, 2);
    using access = reader_access<decltype(reader)>;
    context c{1, 0, 0};
    CHECK((*access::next(reader, c)).number == 2);
    CHECK(access::position(reader) == 3);
    CHECK_FALSE(access::next(reader, c));
}

TEST_CASE("Streams and readers behind pointers are used through them", "[dataset]") {
    auto source = std::make_shared<pointing>();
    using streamed = stream_access<std::shared_ptr<pointing>>;
    static_assert(streamed::sized && streamed::opens);
    CHECK(streamed::size(source) == 2);
    streamed::open(source);
    CHECK(source->opened == 1);
    auto reader = streamed::open(source, 0, 1);
    using access = reader_access<decltype(reader)>;
    static_assert(access::uses_context);
    context c{1, 0, 0};
    context fresh{1, 0, 0};
    CHECK(access::next(reader, c)->number == 6);
    fresh.random();
    CHECK(c.random() == fresh.random());
    CHECK(access::position(reader) == 2);
}
