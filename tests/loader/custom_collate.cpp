#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <range/v3/view/iota.hpp>

#include <stoker/stoker.hpp>

#include "support/catch.hpp"

using namespace stoker;
namespace asio = boost::asio;

namespace {

/// Nothing that could be collated by its type.
struct sentence {
    std::vector<std::int32_t> tokens;
    std::map<std::string, std::string> notes;
};
/// Sentence i has i % 4 tokens.
struct sentences {
    std::size_t count = 0;
    std::size_t size() const { return count; }
    sentence get(stoker::index i) const {
        return {std::vector<std::int32_t>(i % 4, static_cast<std::int32_t>(i)), {{"i", "j"}}};
    }
};
struct padded_pair {
    tensor<std::int32_t, dynamic, dynamic> tokens;
    tensor<bool, dynamic, dynamic> mask;
    tensor<std::int64_t, dynamic> packed;
    tensor<float, 2> statistics;
};

void collate_pair(std::span<const sentence> samples, writer<padded_pair>& out) {
    std::size_t longest = 0;
    std::size_t total = 0;
    for (const sentence& each : samples) {
        longest = std::max(longest, each.tokens.size());
        total += each.tokens.size();
    }
    out.shape(&padded_pair::tokens, samples.size(), longest);
    out.shape(&padded_pair::mask, samples.size(), longest);
    out.shape(&padded_pair::packed, total);
    out.shape(&padded_pair::statistics, 2);
    auto tokens = out.fill(&padded_pair::tokens, -1);
    auto mask = out.fill(&padded_pair::mask, false);
    auto packed = out[&padded_pair::packed];
    std::size_t next = 0;
    for (std::size_t i = 0; i < samples.size(); ++i) {
        for (std::size_t k = 0; k < samples[i].tokens.size(); ++k) {
            tokens(i, k) = samples[i].tokens[k];
            mask(i, k) = true;
            packed[next++] = samples[i].tokens[k];
        }
    }
    out[&padded_pair::statistics](0) = static_cast<float>(longest);
    out[&padded_pair::statistics](1) = static_cast<float>(total);
}

template <class Batch>
std::string contents(const Batch& batch) {
    std::string all;
    for (const char* name : {"tokens", "mask", "packed", "statistics"}) {
        const auto column = batch[name];
        all += name;
        for (const std::uint64_t extent : column.shape())
            all += ' ' + std::to_string(extent);
        all.append(reinterpret_cast<const char*>(column.data()),
                   column.size() * size_of(column.type()));
    }
    return all;
}

struct numbers_batch {
    tensor<std::int64_t, dynamic> values;
};
template <class Loader>
std::vector<std::int64_t> next_values(Loader& loader) {
    const auto batch = loader.next_blocking();
    const auto values = batch[&numbers_batch::values];
    return {values.begin(), values.end()};
}
/// What the next batch throws.
template <class Loader>
std::optional<error> failure(Loader& loader) {
    try {
        loader.next_blocking();
    } catch (const error& e) {
        return e;
    }
    return std::nullopt;
}

}  // namespace

TEST_CASE("a custom collate makes the batch that it names, with workers and without", "[loader]") {
    std::vector<std::vector<std::string>> all;
    for (const int workers : {0, 2}) {
        loader loader{sentences{11},
                      {.batch_size = 4, .num_workers = workers, .epochs = 2},
                      collate{collate_pair}};
        static_assert(std::same_as<decltype(loader), stoker::loader<sentences, padded_pair>>);
        auto& batches = all.emplace_back();
        for (int epoch = 0; epoch < 2; ++epoch) {
            while (const auto batch = loader.next_blocking()) {
                static_assert(
                    std::same_as<decltype(batch), const stoker::batch<sentence, padded_pair>>);
                batches.push_back(contents(batch));
            }
        }
    }
    CHECK(all[0].size() == 6);
    CHECK(all[0] == all[1]);
}

TEST_CASE("a collate's batch has exactly the shapes that were declared", "[loader]") {
    loader loader{sentences{6}, {.batch_size = 4, .num_workers = 1}, collate{collate_pair}};
    auto batch = loader.next_blocking();
    CHECK(batch.size() == 4);
    CHECK(batch.indices()[3] == 3);
    const auto mask = batch[&padded_pair::mask];
    static_assert(std::same_as<decltype(mask), const tensor_view<bool, dynamic, dynamic>>);
    CHECK(mask.shape() == std::array<std::size_t, 2>{4, 3});
    CHECK_FALSE(mask(1, 1));
    CHECK(mask(2, 1));
    auto [tokens, same_mask, packed, statistics] = batch.columns();
    CHECK(tokens(3, 2) == 3);
    CHECK(tokens(0, 0) == -1);
    CHECK(same_mask.data() == mask.data());
    CHECK(packed.extent(0) == 6);
    CHECK(packed[5] == 3);
    static_assert(std::same_as<decltype(statistics), tensor_view<float, 2>>);
    CHECK(statistics(1) == 6);
    const auto& constant = batch;
    static_assert(std::same_as<decltype(constant[&padded_pair::packed]),
                               tensor_view<const std::int64_t, dynamic>>);
    CHECK(constant["packed"].as<tensor_view<const std::int64_t, dynamic>>()[0] == 1);
    CHECK_THROWS_AS(batch["weights"], error);
    batch = loader.next_blocking();  // the last, a short one
    CHECK(batch[&padded_pair::tokens].shape() == std::array<std::size_t, 2>{2, 1});
}

TEST_CASE("a collate stands beside the other parts, in any order", "[loader]") {
    const auto sum = [](std::span<std::int64_t> samples, writer<numbers_batch>& out) {
        out.shape(&numbers_batch::values, 1);
        std::int64_t& total = out[&numbers_batch::values][0];
        total = 0;
        for (const std::int64_t each : samples)
            total += each;
    };
    const std::vector<std::int64_t> data{1, 2, 3, 4, 5};
    for (const int workers : {0, 2}) {
        const loader_options options{.batch_size = 2, .num_workers = workers};
        loader first{data, options, collate{sum}, sampler{ranges::views::iota(1, 5)},
                     worker_init{[](worker_info) {}}};
        loader last{data, options, worker_init{[](worker_info) {}},
                    sampler{ranges::views::iota(1, 5)}, collate{sum}};
        loader alone{data, options, collate{sum}};
        CHECK(next_values(first)[0] == 5);
        CHECK(next_values(last)[0] == 5);
        CHECK(next_values(alone)[0] == 3);
    }
}

TEST_CASE("what a collate throws costs its batch, keeps its words and blames nobody", "[loader]") {
    struct too_odd : std::runtime_error {
        using std::runtime_error::runtime_error;
    };
    const auto picky = [](std::span<const std::int64_t> samples, writer<numbers_batch>& out) {
        if (samples[0] == 2)
            throw too_odd("the first is 2");
        out.shape(&numbers_batch::values, samples.size());
        if (samples[0] != 4)
            std::copy(samples.begin(), samples.end(), out[&numbers_batch::values].data());
        if (samples[0] == 6)
            out.shape(&numbers_batch::values, 7);
        if (samples[0] == 8)
            throw error(errc::sample_failed, "no matter which");
    };
    std::vector<std::string> texts;
    for (const int workers : {0, 2}) {
        loader loader{std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9},
                      {.batch_size = 2, .num_workers = workers},
                      collate{picky}};
        CHECK(next_values(loader)[1] == 1);
        for (int number = 1; number < 5; ++number) {
            const auto failed = failure(loader);
            if (number == 2) {
                CHECK_FALSE(failed);
                continue;
            }
            REQUIRE(failed);
            CHECK(failed->code() == errc::collate_failed);
            CHECK_FALSE(failed->sample());
            texts.push_back(failed->text() + " " + failed->type());
        }
        CHECK_FALSE(loader.next_blocking());
    }
    REQUIRE(texts.size() == 6);
    CHECK(texts[0].starts_with("the first is 2 "));
    CHECK(texts[0].ends_with("too_odd"));
    CHECK(texts[1] == "the shape of 'values' was declared after memory was asked for ");
    CHECK(texts[2] == "no matter which ");
    CHECK(std::equal(texts.begin(), texts.begin() + 3, texts.begin() + 3));
}

TEST_CASE("a collated batch beyond the limit is an error that says so", "[loader]") {
    const auto large = [](std::span<const std::int64_t>, writer<numbers_batch>& out) {
        out.shape(&numbers_batch::values, 1 << 24);
        out[&numbers_batch::values][0] = 1;
    };
    for (const int workers : {0, 1}) {
        loader loader{std::vector<std::int64_t>(4),
                      {.batch_size = 2, .num_workers = workers, .memory_limit_bytes = 16 << 20},
                      collate{large}};
        const auto failed = failure(loader);
        REQUIRE(failed);
        CHECK(failed->code() == errc::batch_too_large);
        CHECK_FALSE(failed->sample());
    }
}

TEST_CASE("samples that are read, awaited or made by one call can be collated", "[loader]") {
    struct point {
        std::int64_t x;
        tensor<float, 2> y;
    };
    struct reads {
        std::size_t size() const { return 4; }
        void read(stoker::index i, row<point> row) const {
            row[&point::x] = static_cast<std::int64_t>(i);
            row[&point::y](1) = static_cast<float>(i);
        }
    };
    struct awaits_rows {
        using sample = point;
        std::size_t size() const { return 4; }
        asio::awaitable<void> read(stoker::index i, row<point> row) const {
            row[&point::x] = static_cast<std::int64_t>(i);
            row[&point::y](1) = static_cast<float>(i);
            co_return;
        }
    };
    struct awaits {
        std::size_t size() const { return 4; }
        asio::awaitable<point> get(stoker::index i) const {
            point made{static_cast<std::int64_t>(i), {0, static_cast<float>(i)}};
            co_return made;
        }
    };
    struct whole {
        std::size_t size() const { return 4; }
        std::vector<point> get(std::span<const stoker::index> indices) const {
            std::vector<point> all;
            for (const stoker::index i : indices)
                all.push_back({static_cast<std::int64_t>(i), {0, static_cast<float>(i)}});
            return all;
        }
    };
    const auto check = [](auto dataset) {
        for (const int workers : {0, 1}) {
            const auto backwards = [](std::span<point> points, writer<numbers_batch>& out) {
                out.shape(&numbers_batch::values, 2 * points.size());
                auto values = out[&numbers_batch::values];
                for (std::size_t i = 0; i < points.size(); ++i) {
                    values[2 * i] = points[points.size() - 1 - i].x;
                    values[2 * i + 1] =
                        static_cast<std::int64_t>(points[points.size() - 1 - i].y(1));
                }
            };
            loader loader{dataset, {.batch_size = 3, .num_workers = workers}, collate{backwards}};
            const auto batch = loader.next_blocking();
            CHECK(std::ranges::equal(batch[&numbers_batch::values],
                                     std::vector<std::int64_t>{2, 2, 1, 1, 0, 0}));
        }
    };
    check(reads{});
    check(awaits_rows{});
    check(awaits{});
    check(whole{});
}

TEST_CASE("a collate that is a template says its batch struct itself", "[loader]") {
    const auto any = [](const auto& samples, auto& out) {
        out.shape(&numbers_batch::values, samples.size());
        out.fill(&numbers_batch::values, 7);
    };
    loader loader{std::vector<std::int64_t>(4),
                  {.batch_size = 2},
                  collate<std::remove_const_t<decltype(any)>, numbers_batch>{any}};
    CHECK(next_values(loader)[1] == 7);
}

TEST_CASE("a collate may own things and differ from batch to batch", "[loader]") {
    auto count = std::make_unique<std::int64_t>(0);
    loader loader{std::vector<std::int64_t>(4),
                  {.batch_size = 2},
                  collate{[count = std::move(count)](std::span<const std::int64_t>,
                                                     writer<numbers_batch>& out) mutable {
                      out.shape(&numbers_batch::values, ++*count);
                      out.fill(&numbers_batch::values, 0);
                  }}};
    CHECK(next_values(loader).size() == 1);
    CHECK(next_values(loader).size() == 2);
}

TEST_CASE("collated batches are awaited like others", "[loader]") {
    loader loader{sentences{8}, {.batch_size = 4, .num_workers = 1}, collate{collate_pair}};
    asio::io_context io;
    std::size_t tokens = 0;
    const auto train = [&]() -> asio::awaitable<void> {
        while (auto batch = co_await loader.next())
            tokens += batch[&padded_pair::packed].extent(0);
    };
    asio::co_spawn(io, train(), rethrow);
    io.run();
    CHECK(tokens == 12);
}

TEST_CASE("samples of a stream are collated like those of a dataset", "[loader]") {
    struct word {
        std::string text;
        padded<std::int32_t, -1> letters;
    };
    std::list<word> words;
    std::list<sentence> plain;
    for (std::int32_t i = 0; i < 11; ++i) {
        const auto length = static_cast<std::size_t>(i % 4);
        words.push_back({std::string(length, 'x'), padded<std::int32_t, -1>(length)});
        plain.push_back({std::vector<std::int32_t>(length, i), {}});
    }
    for (const int workers : {0, 2}) {
        const loader_options options{.batch_size = 4, .num_workers = workers};
        loader by_type{words, options};
        loader by_function{plain, options, collate{collate_pair}};
        static_assert(
            std::same_as<decltype(by_function), stoker::loader<std::list<sentence>, padded_pair>>);
        std::vector<std::size_t> lengths;
        while (const auto batch = by_type.next_blocking()) {
            const auto letters = batch[&word::letters];
            for (std::size_t i = 0; i < batch.size(); ++i) {
                CHECK(batch[&word::text][i].size() == letters[i].size());
                lengths.push_back(letters[i].size());
            }
        }
        CHECK(lengths == std::vector<std::size_t>{0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2});
        std::vector<std::int64_t> packed;
        while (const auto batch = by_function.next_blocking()) {
            const auto some = batch[&padded_pair::packed];
            packed.insert(packed.end(), some.begin(), some.end());
        }
        CHECK(packed == std::vector<std::int64_t>{1, 2, 2, 3, 3, 3, 5, 6, 6, 7, 7, 7, 9, 10, 10});
    }
}
