// Each kind of member through real workers and without them: the same shapes, the same bytes.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <stoker/stoker.hpp>

#include "support/catch.hpp"

using namespace stoker;

namespace {

struct box {
    float x, y;
    std::int32_t label;
};
struct words {
    padded<std::int32_t, -100> tokens;
    std::string text;
};
struct document {
    words title;
    ragged<float> weights;
    ragged<box> boxes;
    std::optional<padded<bool>> flags;
    std::optional<tensor<std::uint8_t, 3>> colour;
    std::optional<words> summary;
    padded<tensor<float, 2>, -1> frames;
    std::int64_t id;
};

/// Sample i has lists of `length(i)` elements; every third lacks what is optional.
struct documents {
    std::size_t count = 0;
    std::size_t (*length)(stoker::index) = nullptr;

    std::size_t size() const { return count; }
    document get(stoker::index i) const {
        const std::size_t n = length(i);
        document made{};
        made.id = static_cast<std::int64_t>(i);
        for (std::size_t k = 0; k < n; ++k) {
            const auto value = static_cast<std::int32_t>(1000 * i + k);
            const auto number = static_cast<float>(value);
            made.title.tokens.push_back(value);
            made.weights.push_back(number);
            made.boxes.push_back({number, -number, value});
            made.frames.push_back({number, number});
        }
        made.title.text = std::string(n, static_cast<char>('a' + i % 26));
        if (i % 3 != 0) {
            made.flags = padded<bool>{std::vector<bool>(n, true)};
            made.colour = {1, 2, static_cast<std::uint8_t>(i)};
            made.summary = made.title;
        }
        return made;
    }
};

const std::vector<std::string> column_names{"title.tokens",
                                            "title.tokens.lengths",
                                            "title.text",
                                            "title.text.offsets",
                                            "weights",
                                            "weights.offsets",
                                            "boxes.x",
                                            "boxes.y",
                                            "boxes.label",
                                            "boxes.offsets",
                                            "flags",
                                            "flags.lengths",
                                            "flags.present",
                                            "colour",
                                            "colour.present",
                                            "summary.tokens",
                                            "summary.tokens.lengths",
                                            "summary.text",
                                            "summary.text.offsets",
                                            "summary.present",
                                            "frames",
                                            "frames.lengths",
                                            "id"};

/// All columns of a batch, with their shapes.
template <class Batch>
std::string contents(const Batch& batch) {
    std::string all;
    for (const std::string& name : column_names) {
        const auto column = batch[name];
        all += name;
        for (const std::uint64_t extent : column.shape())
            all += ' ' + std::to_string(extent);
        all.append(reinterpret_cast<const char*>(column.data()),
                   column.size() * size_of(column.type()));
    }
    return all;
}

/// The batches of two epochs: slots are used again.
template <class Dataset>
std::vector<std::string> read_all(Dataset dataset, int batch_size, int workers) {
    loader loader{std::move(dataset),
                  {.batch_size = batch_size, .num_workers = workers, .epochs = 2}};
    std::vector<std::string> batches;
    for (int epoch = 0; epoch < 2; ++epoch) {
        while (const auto batch = loader.next_blocking())
            batches.push_back(contents(batch));
    }
    return batches;
}

/// The batch against the samples that it was made of.
template <class Batch>
void check_batch(const Batch& batch, const documents& source) {
    const auto& [title, weights, boxes, flags, colour, summary, frames, id] = batch.columns();
    const auto tokens = title[&words::tokens];
    REQUIRE(tokens.extent(0) == batch.size());
    for (std::size_t i = 0; i < batch.size(); ++i) {
        const document wanted = source.get(batch.indices()[i]);
        const std::size_t n = wanted.weights.size();
        REQUIRE(std::ranges::equal(tokens[i], wanted.title.tokens));
        REQUIRE(std::all_of(&tokens.data()[i * tokens.extent(1) + n],
                            &tokens.data()[(i + 1) * tokens.extent(1)],
                            [](std::int32_t token) { return token == -100; }));
        REQUIRE(title[&words::text][i] == wanted.title.text);
        REQUIRE(std::ranges::equal(weights[i], wanted.weights));
        REQUIRE(boxes.length(i) == n);
        for (std::size_t k = 0; k < n; ++k)
            REQUIRE(boxes[&box::label][i][k] == wanted.boxes[k].label);
        REQUIRE(flags.has_value(i) == wanted.flags.has_value());
        REQUIRE(flags.values()[i].size() == (wanted.flags ? n : 0));
        REQUIRE(colour.has_value(i) == wanted.colour.has_value());
        REQUIRE(colour.values()(i, 2) == (wanted.colour ? (*wanted.colour)(2) : 0));
        REQUIRE(summary.values()[&words::text][i] == (wanted.summary ? wanted.summary->text : ""));
        REQUIRE(frames[i].extent(0) == n);
        REQUIRE(id[i] == wanted.id);
    }
}

}  // namespace

TEST_CASE("every kind of member is the same with workers and without", "[loader][B073][B074]") {
    const documents some{23, [](stoker::index i) { return static_cast<std::size_t>(i * 7 % 5); }};
    const documents empty{5, [](stoker::index) { return std::size_t{0}; }};
    for (const documents& source : {some, empty}) {
        for (const int batch_size : {1, 4, 30}) {  // the last batch is a short one
            CAPTURE(source.count, batch_size);
            const auto here = read_all(source, batch_size, 0);
            CHECK(here.size() == 2 * ((source.count + static_cast<std::size_t>(batch_size) - 1) /
                                      static_cast<std::size_t>(batch_size)));
            CHECK(here == read_all(source, batch_size, 2));
            loader loader{source, {.batch_size = batch_size, .num_workers = 2}};
            for (const auto& batch : loader)
                check_batch(batch, source);
        }
    }
}

TEST_CASE("lists and strings longer than 65,536 arrive whole", "[loader]") {
    const documents source{4, [](stoker::index i) { return i == 2 ? std::size_t{70'001} : i; }};
    CHECK(read_all(source, 3, 0) == read_all(source, 3, 2));
    loader loader{source, {.batch_size = 3, .num_workers = 2}};
    const auto batch = loader.next_blocking();
    CHECK(batch[&document::title][&words::tokens].extent(1) == 70'001);
    CHECK(batch[&document::title][&words::text][2].size() == 70'001);
    check_batch(batch, source);
}

TEST_CASE("map gives and takes samples with lists", "[loader]") {
    const auto make = [] {
        return documents{10, [](stoker::index i) { return static_cast<std::size_t>(i); }} |
               map([](document made, context& c) {
                   made.title.tokens.push_back(static_cast<std::int32_t>(c.random() % 1000));
                   made.title.text += '!';
                   if (c.random.coin(0.5))
                       made.colour.reset();
                   return made;
               });
    };
    const auto here = read_all(make(), 4, 0);
    CHECK(here == read_all(make(), 4, 2));
    loader loader{make(), {.batch_size = 4, .num_workers = 2}};
    const auto batch = loader.next_blocking();
    CHECK(batch[&document::title][&words::tokens].lengths()[3] == 4);
    CHECK(batch[&document::title][&words::text][2] == "cc!");
}

TEST_CASE("samples that are one list or one string can be loaded", "[loader]") {
    for (const int workers : {0, 2}) {
        loader lines{std::vector<std::string>{"one", "", "three"},
                     {.batch_size = 2, .num_workers = workers}};
        const auto first = lines.next_blocking();
        const auto [text] = first.columns();
        CHECK(text[0] == "one");
        CHECK(text[1].empty());
        const auto second = lines.next_blocking();
        CHECK(std::get<0>(second.columns())[0] == "three");
        loader lists{std::vector<padded<int, -1>>{{1}, {2, 3}},
                     {.batch_size = 2, .num_workers = workers}};
        const auto batch = lists.next_blocking();
        CHECK(std::get<0>(batch.columns())(0, 1) == -1);
    }
}

TEST_CASE("a bad sample that is left out leaves no gap in lists", "[loader]") {
    struct line {
        std::string text;
        padded<std::int32_t, -1> numbers;
    };
    struct lines {
        std::size_t size() const { return 6; }
        line get(stoker::index i) const {
            if (i == 1)
                throw std::runtime_error("damaged");
            return {std::string(i, 'x'), padded<std::int32_t, -1>(i)};
        }
    };
    struct joined {
        tensor<std::uint8_t, dynamic> text;
    };
    const auto join = [](std::span<const line> samples, writer<joined>& out) {
        std::string all;
        for (const line& each : samples)
            all += each.text + ';';
        out.shape(&joined::text, all.size());
        std::copy(all.begin(), all.end(), out[&joined::text].data());
    };
    for (const int workers : {0, 2}) {
        const loader_options options{
            .batch_size = 3, .num_workers = workers, .on_bad = on_bad::skip};
        loader by_type{lines{}, options};
        const auto batch = by_type.next_blocking();
        CHECK(batch.size() == 2);
        CHECK(batch[&line::text].size() == 2);
        CHECK(batch[&line::text][1] == "xx");
        CHECK(std::ranges::equal(batch[&line::numbers].lengths(), std::vector<std::int64_t>{0, 2}));
        loader by_function{lines{}, options, collate{join}};
        const auto whole = by_function.next_blocking();
        const auto text = whole[&joined::text];
        CHECK(std::string(text.begin(), text.end()) == ";xx;");
    }
}

TEST_CASE("offsets that lead out of a batch are an error, and are not followed", "[loader]") {
    struct line {
        std::string text;
    };
    /// Makes sound batches, then damages the offsets of those from sample 4 on.
    class scribbling final : public detail::fetcher {
      public:
        std::uint64_t size() const override { return sound_->size(); }
        const detail::schema& columns() const override { return sound_->columns(); }
        void open(int worker, int num_workers, std::uint64_t seed) override {
            sound_->open(worker, num_workers, seed);
        }
        std::uint64_t fetch(const detail::fetch_task& task, detail::batch_memory& memory,
                            detail::column_record* records,
                            detail::fetch_monitor& monitor) override {
            const std::uint64_t bytes = sound_->fetch(task, memory, records, monitor);
            auto* const offsets =
                reinterpret_cast<std::int64_t*>(memory.data(bytes) + records[1].offset);
            if (task.indices[0] >= 4)
                offsets[1] = std::int64_t{1} << 40;
            return bytes;
        }

      private:
        std::unique_ptr<detail::fetcher> sound_ =
            detail::make_fetcher(std::vector<line>{{"a"}, {"b"}, {"c"}, {"d"}, {"e"}, {"f"}});
    };
    for (const int workers : {0, 1}) {
        detail::engine_parts parts;
        parts.source = std::make_unique<scribbling>();
        parts.columns = parts.source->columns();
        parts.options = {.batch_size = 2, .num_workers = workers};
        parts.make_order = [](std::uint64_t size) {
            return detail::make_default_source(size, 2, false, false, 0);
        };
        const auto machinery = detail::engine::make(std::move(parts));
        const batch<line> first(machinery->next_blocking());
        CHECK(first[&line::text][1] == "b");
        CHECK(batch<line>(machinery->next_blocking()).size() == 2);
        try {
            machinery->next_blocking();
            FAIL("was delivered");
        } catch (const error& error) {
            CHECK(error.code() == errc::protocol);
        }
        machinery->close();
    }
}
