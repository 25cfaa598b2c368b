#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <ranges>
#include <stdexcept>
#include <stoker/core/error.hpp>
#include <stoker/dataset/map.hpp>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/catch.hpp"

using stoker::context;
using stoker::map;
using stoker::stream;
using values = std::vector<std::int64_t>;

namespace {

struct line {
    std::int64_t number;
};
/// Three lines a shard.
struct lines {
    std::unique_ptr<int> move_only{};
    int* opened = nullptr;

    struct reader {
        std::int64_t shard;
        std::uint64_t at;
        std::optional<line> next(context& c) {
            c.random();
            if (at == 3)
                return std::nullopt;
            return line{10 * shard + static_cast<std::int64_t>(at++)};
        }
        std::uint64_t position() const { return at; }
    };
    std::size_t shard_count() const { return 2; }
    std::uint64_t size() const { return 6; }
    void open() { ++*opened; }
    std::unique_ptr<reader> open(std::size_t shard, std::uint64_t position) const {
        return std::make_unique<reader>(reader{static_cast<std::int64_t>(shard), position});
    }
};
std::int64_t twice(line l) {
    return 2 * l.number;
}

template <class Stream>
values rest(Stream& source, std::size_t shard, std::uint64_t position) {
    context c{1, 0, 7};
    values all;
    auto reader = source.open(shard, position);
    while (const auto given = reader.next(c))
        all.push_back(*given);
    return all;
}

}  // namespace

TEST_CASE("A mapped stream has its base's shards, positions, size and opening", "[dataset]") {
    int opened = 0;
    auto mapped = lines{nullptr, &opened} | map(twice);
    static_assert(stream<decltype(mapped)>);
    static_assert(std::is_same_v<stoker::stream_traits<decltype(mapped)>::sample, std::int64_t>);
    CHECK(mapped.shard_count() == 2);
    CHECK(mapped.size() == 6);
    mapped.open();
    CHECK(opened == 1);
    CHECK(rest(mapped, 1, 0) == values{20, 22, 24});
    CHECK(rest(mapped, 1, 2) == values{24});
}

TEST_CASE("Stages over a stream share the sample's context", "[dataset]") {
    auto mapped = lines{} | map([](line, context& c) { return c.random(); }) |
                  map([](std::uint64_t first, context& c) { return std::pair(first, c.random()); });
    context c{1, 0, 7};
    context fresh{1, 0, 7};
    auto reader = mapped.open(0, 0);
    const auto made = reader.next(c);
    REQUIRE(made);
    fresh.random();  // the reader's own
    CHECK(made->first == fresh.random());
    CHECK(made->second == fresh.random());
}

TEST_CASE("What lies in a range is passed by const reference, and not changed", "[dataset]") {
    const auto list = std::make_shared<std::list<line>>(std::list<line>{{1}, {2}});
    auto mapped = list | map([&](const line& l) { return l.number + (&l == &list->front()); });
    CHECK(rest(mapped, 0, 0) == values{2, 2});
    auto changed = list | map([](line l) { return ++l.number; });
    CHECK(rest(changed, 0, 1) == values{3});
    CHECK(list->back().number == 2);
}

TEST_CASE("A sample for which the function throws is behind the reader", "[dataset]") {
    auto mapped = lines{} | map([](line l) {
                      if (l.number == 1)
                          throw std::out_of_range("one");
                      return l.number;
                  });
    context c{1, 0, 0};
    auto reader = mapped.open(0, 0);
    CHECK(*reader.next(c) == 0);
    CHECK_THROWS_AS(reader.next(c), std::out_of_range);
    CHECK(reader.position() == 2);
    CHECK(*reader.next(c) == 2);
}

TEST_CASE("A null pointer to a stream or dataset is refused by map", "[dataset]") {
    CHECK_THROWS_AS(std::shared_ptr<lines>() | map(twice), stoker::error);
    CHECK_THROWS_AS(std::shared_ptr<std::vector<line>>() | map(twice), stoker::error);
}
