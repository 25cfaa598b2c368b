#include <algorithm>
#include <cstdint>
#include <stoker/collate/column_access.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "collate/support.hpp"
#include "support/catch.hpp"

namespace {

using stoker::dynamic;
using stoker::tensor_view;
using stoker::test_support::test_batch;
using numbers = std::vector<std::int64_t>;
using namespace std::string_view_literals;

struct photo {
    std::int32_t label;
    std::string path;
};

}  // namespace

TEST_CASE("Strings of a batch are had by sample, whatever bytes they have", "[collate]") {
    const std::string zeros("a\0b\0", 4);
    const std::string long_one(300, 'x');
    test_batch batch(std::vector<photo>{{1, "train/1.png"}, {2, ""}, {3, zeros}, {4, long_one}});
    batch.fetch({3, 1, 2, 0});
    const auto path = batch[&photo::path];
    CHECK(path.size() == 4);
    CHECK(path[0] == long_one);
    CHECK(path[1].empty());
    CHECK(path[2] == "a\0b\0"sv);
    CHECK(path[3] == "train/1.png");
    CHECK(std::ranges::equal(path.offsets(), numbers{0, 300, 300, 304, 315}));
    CHECK(path.bytes().size() == 315);
    std::string joined;
    for (const std::string_view each : path)
        joined += each;
    CHECK(joined == long_one + zeros + "train/1.png");
    CHECK(batch[&photo::label][3] == 1);
}

TEST_CASE("Strings are columns of bytes and offsets, by name", "[collate]") {
    test_batch batch(std::vector<photo>{{1, "ab"}, {2, "c"}});
    batch.fetch({0, 1});
    const auto bytes = batch.named("path").as<tensor_view<const std::uint8_t, dynamic>>();
    CHECK(bytes.extent(0) == 3);
    CHECK(bytes[2] == 'c');
    const auto offsets = batch.named("path.offsets").as<tensor_view<const std::int64_t, dynamic>>();
    CHECK(offsets[1] == 2);
}

TEST_CASE("A batch of empty strings is one of empty strings", "[collate]") {
    test_batch batch(std::vector<std::string>{"", "", "z"});
    batch.fetch({0, 1});
    const auto [empty] = batch.columns();
    CHECK(empty.size() == 2);
    CHECK(empty[1].empty());
    batch.fetch({2});
    CHECK(std::get<0>(batch.columns())[0] == "z");
    CHECK(batch.named("value.offsets").extent(0) == 2);
}
