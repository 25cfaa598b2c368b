#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <stoker/stoker.hpp>

#include "loader/loader_datasets.hpp"
#include "support/catch.hpp"

using namespace stoker;
using namespace stoker::test_loader;

namespace {

struct line {
    std::string text;
    padded<std::int32_t, -1> tokens;
};
std::vector<line> three_lines() {
    return {{"one", {1}}, {"", {}}, {"three", {3, 3, 3}}};
}

static_assert(!std::is_copy_constructible_v<batch<number>>, "copies are made by clone() only");

/// Whether a batch that nobody holds can be looked into.
template <class Batch>
constexpr bool temporary_has_columns = requires {
    std::declval<Batch>().columns();
}
|| requires {
    std::declval<const Batch>().columns();
};
template <class Batch>
constexpr bool temporary_has_names = requires {
    std::declval<Batch>()["text"];
}
|| requires {
    std::declval<const Batch>()["text"];
};
template <class Batch, class Member>
constexpr bool temporary_has_member = requires(Member member) {
    std::declval<Batch>()[member];
}
|| requires(Member member) {
    std::declval<const Batch>()[member];
};
struct line_batch {
    tensor<std::uint8_t, dynamic> text;
};
static_assert(!temporary_has_columns<batch<line>> && !temporary_has_names<batch<line>>);
static_assert(!temporary_has_member<batch<line>, std::string line::*>);
static_assert(!temporary_has_member<batch<line>, padded<std::int32_t, -1> line::*>);
static_assert(!temporary_has_columns<batch<line, line_batch>>);
static_assert(
    !temporary_has_member<batch<line, line_batch>, tensor<std::uint8_t, dynamic> line_batch::*>);
static_assert(temporary_has_columns<batch<line>&> && temporary_has_names<const batch<line>&>);
static_assert(temporary_has_member<batch<line>&, std::string line::*>);

}  // namespace

TEST_CASE("a clone is the batch again, and outlives it and its loader", "[loader]") {
    for (const int workers : {0, 2}) {
        batch<line> kept;
        std::vector<std::byte> before;
        {
            loader loader{three_lines(), {.batch_size = 3, .num_workers = workers, .epochs = 3}};
            while (loader.next_blocking()) {
            }
            const auto original = loader.next_blocking();
            kept = original.clone();
            before.assign(original.bytes().begin(), original.bytes().end());
            CHECK(kept.bytes().data() != original.bytes().data());
        }
        REQUIRE(kept);
        CHECK(kept.size() == 3);
        CHECK(kept.epoch() == 1);
        CHECK(kept.number() == 0);
        CHECK(std::ranges::equal(kept.indices(), std::vector<stoker::index>{0, 1, 2}));
        CHECK(std::ranges::equal(kept.bytes(), before));
        CHECK(kept[&line::text][2] == "three");
        CHECK(kept[&line::tokens](0, 2) == -1);
        auto [text, tokens] = kept.columns();
        CHECK(text[0] == "one");
        CHECK(tokens.lengths()[2] == 3);
        CHECK(kept["tokens"].extent(1) == 3);
        CHECK(reinterpret_cast<std::uintptr_t>(kept["tokens"].data()) % 256 == 0);
    }
}

TEST_CASE("a clone is changed by itself, and can be cloned", "[loader]") {
    loader loader{numbers{4}, {.batch_size = 4}};
    auto original = loader.next_blocking();
    auto changed = original.clone();
    changed[&number::value][2] = 77;
    const auto again = changed.clone();
    changed[&number::value][2] = 78;
    CHECK(original[&number::value][2] == 2);
    CHECK(again[&number::value][2] == 77);
    auto moved = std::move(changed);
    CHECK(moved[&number::value][2] == 78);
    moved = original.clone();
    CHECK(moved[&number::value][2] == 2);
}

TEST_CASE("clones hold no slots", "[loader]") {
    for (const int workers : {0, 1}) {
        loader loader{numbers{200}, {.batch_size = 1, .num_workers = workers}};
        std::vector<batch<number>> all;
        while (auto batch = loader.next_blocking())
            all.push_back(batch.clone());
        REQUIRE(all.size() == 200);
        for (std::size_t i = 0; i < all.size(); ++i)
            CHECK(all[i][&number::value][0] == static_cast<std::int64_t>(i));
    }
}

TEST_CASE("the clone of a false batch is false", "[loader]") {
    const batch<number> none;
    CHECK_FALSE(none.clone());
    CHECK(none.clone().size() == 0);
}
