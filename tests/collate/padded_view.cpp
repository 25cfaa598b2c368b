#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <stoker/collate/column_access.hpp>
#include <stoker/tensor/f16.hpp>
#include <vector>

#include "collate/support.hpp"
#include "support/catch.hpp"

namespace {

using stoker::dynamic;
using stoker::padded;
using stoker::padded_view;
using stoker::tensor;
using stoker::tensor_view;
using stoker::test_support::test_batch;

struct sentence {
    padded<std::int32_t, -100> tokens;
    std::int64_t label;
};
using frame = tensor<float, 2>;
struct clip {
    padded<frame, -1> frames;
    padded<bool, true> flags;
};

sentence sentence_of(std::size_t length) {
    sentence made{padded<std::int32_t, -100>(length), static_cast<std::int64_t>(length)};
    for (std::size_t i = 0; i < length; ++i)
        made.tokens[i] = static_cast<std::int32_t>(10 * length + i);
    return made;
}
auto batch_of(const std::vector<std::size_t>& lengths) {
    std::vector<sentence> sentences;
    for (const std::size_t length : lengths)
        sentences.push_back(sentence_of(length));
    return test_batch(std::move(sentences));
}
std::vector<std::int32_t> row(auto& batch, std::size_t sample) {
    const auto tokens = batch[&sentence::tokens];
    std::vector<std::int32_t> all;
    for (std::size_t i = 0; i < tokens.extent(1); ++i)
        all.push_back(tokens(sample, i));
    return all;
}

}  // namespace

TEST_CASE("Padded lists are as long as the longest of their batch", "[collate]") {
    auto batch = batch_of({2, 0, 3, 1});
    const std::uint64_t bytes = batch.fetch({0, 1, 2, 3});
    const auto tokens = batch[&sentence::tokens];
    static_assert(std::same_as<decltype(tokens), const padded_view<std::int32_t>>);
    CHECK(tokens.shape() == std::array<std::size_t, 2>{4, 3});
    CHECK(tokens.size() == 12);
    CHECK(row(batch, 0) == std::vector<std::int32_t>{20, 21, -100});
    CHECK(row(batch, 1) == std::vector<std::int32_t>{-100, -100, -100});
    CHECK(row(batch, 2) == std::vector<std::int32_t>{30, 31, 32});
    CHECK(std::ranges::equal(tokens.lengths(), std::vector<std::int64_t>{2, 0, 3, 1}));
    CHECK(bytes == 512 + 4 * sizeof(std::int64_t));
    batch.fetch({3, 1});
    CHECK(batch[&sentence::tokens].extent(1) == 1);
    CHECK(row(batch, 1) == std::vector<std::int32_t>{-100});
}

TEST_CASE("Rows of padded lists are had without their padding", "[collate]") {
    auto batch = batch_of({2, 0, 3});
    batch.fetch({0, 1, 2});
    const auto tokens = batch[&sentence::tokens];
    CHECK(tokens.row(0).size() == 2);
    CHECK(tokens[0][1] == 21);
    CHECK(tokens[1].empty());
    std::vector<std::size_t> lengths;
    for (const auto each : tokens)
        lengths.push_back(each.size());
    CHECK(lengths == std::vector<std::size_t>{2, 0, 3});
    const tensor_view<std::int32_t, dynamic, dynamic> whole = tokens;
    CHECK(whole.data() == tokens.data());
    CHECK(tokens.tensor()(2, 2) == 32);
}

TEST_CASE("A batch of empty lists has rows of length 0", "[collate]") {
    auto batch = batch_of({0, 0, 3});
    batch.fetch({0, 1});
    const auto tokens = batch[&sentence::tokens];
    CHECK(tokens.shape() == std::array<std::size_t, 2>{2, 0});
    CHECK(tokens.size() == 0);
    CHECK(tokens[1].empty());
    CHECK(std::ranges::equal(tokens.lengths(), std::vector<std::int64_t>{0, 0}));
    batch.fetch({});
    CHECK(batch[&sentence::tokens].shape() == std::array<std::size_t, 2>{0, 0});
    batch.fetch({2});
    CHECK(row(batch, 0) == std::vector<std::int32_t>{30, 31, 32});
}

TEST_CASE("Padded lists of tensors keep the tensors' axes", "[collate]") {
    test_batch batch(
        std::vector<clip>{{{frame{1, 2}}, {false, false}}, {{frame{3, 4}, frame{5, 6}}, {}}});
    batch.fetch({0, 1});
    const auto frames = batch[&clip::frames];
    static_assert(std::same_as<decltype(frames), const padded_view<float, 2>>);
    CHECK(frames.shape() == std::array<std::size_t, 3>{2, 2, 2});
    CHECK(frames(0, 0, 1) == 2);
    CHECK(frames(0, 1, 0) == -1);
    CHECK(frames(0, 1, 1) == -1);
    CHECK(frames(1, 1, 0) == 5);
    CHECK(frames[0].shape() == std::array<std::size_t, 2>{1, 2});
    CHECK(frames[1](1, 1) == 6);
    const auto flags = batch[&clip::flags];
    CHECK_FALSE(flags(0, 1));
    CHECK(flags(1, 0));
    CHECK(flags(1, 1));
}

TEST_CASE("Lengths are a column of their own, by name", "[collate]") {
    auto batch = batch_of({2, 0, 3});
    batch.fetch({0, 1, 2});
    using numbers = tensor_view<const std::int64_t, dynamic>;
    const auto lengths = batch.named("tokens.lengths").as<numbers>();
    CHECK(lengths[2] == 3);
    const auto tokens = batch.named("tokens");
    CHECK(tokens.extent(1) == 3);
    const auto typed = tokens.as<tensor_view<const std::int32_t, dynamic, dynamic>>();
    CHECK(typed(1, 0) == -100);
    CHECK(batch.fetcher().columns().columns.size() == 3);
}

TEST_CASE("A padded list is a sample by itself, named value", "[collate]") {
    test_batch batch(std::vector<padded<std::uint8_t, 9>>{{1}, {2, 3}});
    batch.fetch({0, 1});
    const auto [value] = batch.columns();
    CHECK(value(0, 1) == 9);
    CHECK(batch.named("value.lengths").extent(0) == 2);
}
