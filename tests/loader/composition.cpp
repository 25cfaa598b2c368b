// Composed datasets through real workers; what each of them promises by itself is in tests/dataset.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "loader/loader_datasets.hpp"
#include "support/catch.hpp"

using namespace stoker;
using namespace stoker::test_loader;

namespace {

/// Delivers {0, 0, wrong, 4} one by one and tells what became of them.
template <class Dataset>
void check_wrong_index(Dataset dataset, std::int64_t wrong, int workers) {
    loader loader{std::move(dataset),
                  {.batch_size = 1, .num_workers = workers},
                  sampler{std::vector<std::int64_t>{0, 0, wrong, 4}}};
    std::vector<stoker::index> delivered;
    std::string text = "no error";
    for (bool ended = false; !ended;) {
        try {
            auto batch = loader.next_blocking();
            ended = !batch;
            delivered.insert(delivered.end(), batch.indices().begin(), batch.indices().end());
        } catch (const error& e) {
            CHECK(e.code() == errc::index_out_of_range);
            CHECK(e.sample() == static_cast<stoker::index>(wrong));
            text = e.text();
        }
    }
    CHECK(delivered == std::vector<stoker::index>{0, 0, 4});
    CHECK(text == "index " + std::to_string(wrong) + " is out of range: the dataset has 5 samples");
}

/// Pixels are written where they are read.
struct painted {
    tensor<std::uint8_t, 4> pixels;
    std::int64_t position;
};
struct painter {
    std::int64_t first;
    std::size_t size() const { return 6; }
    void read(stoker::index i, row<painted> place, context& c) const {
        place[&painted::pixels](0) =
            static_cast<std::uint8_t>(first) + static_cast<std::uint8_t>(i);
        place[&painted::position] = static_cast<std::int64_t>(c.position());
    }
};

}  // namespace

TEST_CASE("An index that no sample has is one kind of error, composed or not [B065]", "[loader]") {
    for (const int workers : {0, 2}) {
        for (const std::int64_t wrong : {std::int64_t{-1}, std::int64_t{5}, INT64_MAX}) {
            CAPTURE(workers, wrong);
            check_wrong_index(numbers{5}, wrong, workers);
            check_wrong_index(concat(numbers{2}, numbers{3}), wrong, workers);
            check_wrong_index(subset(numbers{9}, {8, 0, 1, 2, 3}), wrong, workers);
            check_wrong_index(
                concat(subset(numbers{9}, {8, 0}), numbers{3}) | map([](number n) { return n; }),
                wrong, workers);
        }
    }
}

TEST_CASE("A subset's own wrong index is an error of its batch, in any process", "[loader]") {
    for (const int workers : {0, 2}) {
        const auto beyond =
            std::views::iota(0, 3) | std::views::transform([](int i) { return i == 1 ? 700 : i; });
        loader loader{subset(numbers{9}, beyond), {.batch_size = 1, .num_workers = workers}};
        const auto first = loader.next_blocking();
        CHECK(first[&number::value](0) == 0);
        try {
            loader.next_blocking();
            FAIL("no error");
        } catch (const error& e) {
            CHECK(e.code() == errc::index_out_of_range);
            CHECK(e.text() == "index 700 is out of range: the dataset has 9 samples");
        }
        const auto last = loader.next_blocking();
        CHECK(last[&number::value](0) == 2);
    }
}

TEST_CASE("Both sides of a split are loaded apart, and hold every sample once", "[loader]") {
    auto [train_set, val_set] = random_split(numbers{100}, {0.8, 0.2}, 7);
    loader train{std::move(train_set), {.batch_size = 7, .shuffle = true, .num_workers = 2}};
    loader val{std::move(val_set), {.batch_size = 7, .num_workers = 1}};
    std::vector<std::int64_t> first_val;
    for (int epoch = 0; epoch < 2; ++epoch) {
        auto all = flatten(read_epoch(train));
        CHECK(all.size() == 80);
        const auto held_out = flatten(read_epoch(val));
        if (epoch == 0)
            first_val = held_out;
        CHECK(held_out == first_val);
        all.insert(all.end(), held_out.begin(), held_out.end());
        std::sort(all.begin(), all.end());
        CHECK(all == count_to(100));
    }
}

TEST_CASE("Joined and chosen datasets write into the batch's own memory", "[loader]") {
    for (const int workers : {0, 2}) {
        loader loader{subset(concat(painter{10}, painter{50}), {11, 0, 6}),
                      {.batch_size = 3, .num_workers = workers}};
        const auto batch = loader.next_blocking();
        const auto [pixels, position] = batch.columns();
        CHECK(pixels(0, 0) == 55);
        CHECK(pixels(1, 0) == 10);
        CHECK(pixels(2, 0) == 50);
        CHECK(position(2) == 2);
    }
}
