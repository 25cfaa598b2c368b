#include <cstdint>
#include <forward_list>
#include <list>
#include <memory>
#include <ranges>
#include <sstream>
#include <stdexcept>
#include <stoker/dataset/range_stream.hpp>
#include <type_traits>
#include <vector>

#include "support/catch.hpp"

using stoker::range_stream;
using values = std::vector<int>;

namespace {

template <class Reader>
values rest(Reader&& reader) {
    values all;
    while (const auto given = reader.next())
        all.push_back(*given);
    return all;
}

}  // namespace

TEST_CASE("A range is one shard, which can be opened at any count", "[dataset]") {
    range_stream stream{std::list{3, 1, 4, 1, 5}};
    CHECK(stream.shard_count() == 1);
    CHECK(stream.size() == 5);
    CHECK(rest(stream.open(0, 0)) == values{3, 1, 4, 1, 5});
    CHECK(rest(stream.open(0, 3)) == values{1, 5});
    CHECK(rest(stream.open(0, 5)).empty());
    CHECK(rest(stream.open(0, 50)).empty());
    auto reader = stream.open(0, 2);
    CHECK(reader.position() == 2);
    reader.next();
    CHECK(reader.position() == 3);
    CHECK(rest(stream.open(0, reader.position())) == values{1, 5});
    CHECK(rest(reader) == values{1, 5});
}

TEST_CASE("Elements that lie in memory are not copied, and readers are independent", "[dataset]") {
    const auto list = std::make_shared<std::forward_list<int>>(std::forward_list{7, 8});
    range_stream stream{list};
    auto first = stream.open(0, 0);
    auto second = stream.open(0, 0);
    static_assert(std::is_same_v<decltype(first.next()), int*>);
    CHECK(first.next() == &list->front());
    CHECK(second.next() == &list->front());
    CHECK(rest(first) == values{8});
}

TEST_CASE("A range that can be walked once goes on where it is", "[dataset]") {
    std::istringstream text("1 2 3 4 5 6");
    range_stream stream{std::views::istream<int>(text)};
    auto reader = stream.open(0, 0);
    CHECK(*reader.next() == 1);
    CHECK(*stream.open(0, 0).next() == 2);
    CHECK(*stream.open(0, 4).next() == 5);  // in a process that has not read what is before
    CHECK(rest(stream.open(0, 0)) == values{6});
    CHECK(rest(stream.open(0, 0)).empty());
}

TEST_CASE("The position behind an element that throws is that of the next", "[dataset]") {
    range_stream stream{std::views::iota(0, 5) | std::views::transform([](int i) {
                            if (i == 2)
                                throw std::out_of_range("two");
                            return i;
                        })};
    auto reader = stream.open(0, 2);
    CHECK_THROWS_AS(reader.next(), std::out_of_range);
    CHECK(reader.position() == 3);
    CHECK(rest(stream.open(0, 3)) == values{3, 4});
    CHECK(rest(reader) == values{3, 4});
}

TEST_CASE("Nothing is asked of a range after its end", "[dataset]") {
    int looks = 0;
    range_stream stream{std::views::iota(0, 3) | std::views::filter([&looks](int) {
                            ++looks;
                            return true;
                        })};
    auto reader = stream.open(0, 0);
    CHECK(rest(reader).size() == 3);
    const int before = looks;
    CHECK_FALSE(reader.next());
    CHECK_FALSE(reader.next());
    CHECK(looks == before);
}
