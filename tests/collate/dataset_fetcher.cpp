#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <stdexcept>
#include <stoker/collate/dataset_fetcher.hpp>
#include <stoker/core/error.hpp>
#include <stoker/dataset/map.hpp>
#include <string>
#include <vector>

#include "collate/support.hpp"
#include "support/catch.hpp"

namespace {

using stoker::context;
using stoker::dynamic;
using stoker::row;
using stoker::tensor;
using stoker::detail::make_fetcher;
using stoker::test_support::test_batch;

struct digit {
    tensor<std::uint8_t, 8, 8> pixels;
    std::int64_t label;
};
struct getter {
    std::size_t size() const { return 100; }
    digit get(stoker::index i) const {
        digit made{{}, static_cast<std::int64_t>(i)};
        made.pixels.fill(static_cast<std::uint8_t>(i));
        return made;
    }
};
struct reader {
    std::uint8_t** written;
    std::size_t size() const { return 100; }
    void read(stoker::index i, row<digit> row) const {
        row[&digit::label] = static_cast<std::int64_t>(i);
        for (auto line : row[&digit::pixels])
            for (std::uint8_t& pixel : line)
                pixel = static_cast<std::uint8_t>(i);
        *written = row[&digit::pixels].data();
    }
};
struct where {
    std::uint64_t epoch, position, random;
    int worker, num_workers;
};
struct asks_context {
    int size() const { return 100; }
    where get(stoker::index, context& c) const {
        return {c.epoch(), c.position(), c.random(), c.worker(), c.num_workers()};
    }
};
struct sentence {
    std::int32_t label;
    tensor<std::int32_t, dynamic> tokens;
};
struct sentences {
    std::vector<std::size_t> lengths;
    std::size_t size() const { return lengths.size(); }
    sentence get(stoker::index i) const {
        sentence made{static_cast<std::int32_t>(i), tensor<std::int32_t, dynamic>(lengths[i])};
        made.tokens.fill(static_cast<std::int32_t>(10 * i));
        return made;
    }
};

std::string shape_error(auto& batch, const std::vector<stoker::index>& indices,
                        stoker::index wrong) {
    try {
        batch.fetch(indices);
    } catch (const stoker::error& error) {
        CHECK(error.code() == stoker::errc::shape_mismatch);
        CHECK(error.sample() == wrong);
        return error.text();
    }
    return "no error";
}

/// Counts allocations of this test program while it is on.
bool counting = false;
int allocations = 0;

}  // namespace

// Not inlined: g++ would see only one half of a pair and warn of the other. Both kinds of new, for
// AddressSanitizer pairs each with its delete.
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    if (counting)
        ++allocations;
    return std::malloc(size == 0 ? 1 : size);
}
[[gnu::noinline]] void* operator new(std::size_t size) {
    if (void* memory = operator new(size, std::nothrow))
        return memory;
    throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
    std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}

TEST_CASE("Samples of a batch stand in its columns, in the order of the indices", "[collate]") {
    test_batch batch(getter{});
    const std::uint64_t bytes = batch.fetch({7, 3, 7});
    CHECK(bytes == 256 + 24);
    CHECK(batch.memory.asked() == bytes);
    CHECK(batch.memory.times_asked() == 1);
    auto [pixels, label] = batch.columns();
    CHECK(label.extent(0) == 3);
    CHECK(label[0] == 7);
    CHECK(label[1] == 3);
    CHECK(label[2] == 7);
    CHECK(pixels(0, 7, 7) == 7);
    CHECK(pixels(1, 0, 0) == 3);
    CHECK(batch.monitor.begun == std::vector<stoker::index>{7, 3, 7});
}

TEST_CASE("Columns begin at multiples of 256 bytes", "[collate]") {
    test_batch batch(getter{});
    batch.fetch({1, 2, 3, 4, 5});
    auto [pixels, label] = batch.columns();
    CHECK(reinterpret_cast<std::uintptr_t>(pixels.data()) % 256 == 0);
    CHECK(reinterpret_cast<std::uintptr_t>(label.data()) % 256 == 0);
    CHECK(pixels.data() == reinterpret_cast<std::uint8_t*>(batch.memory.start()));
}

TEST_CASE("read writes where the batch is, and makes the same bytes as get", "[collate]") {
    std::uint8_t* written = nullptr;
    test_batch reads(reader{&written});
    test_batch gets(getter{});
    const std::vector<stoker::index> indices{9, 8, 42};
    const std::uint64_t bytes = reads.fetch(indices);
    CHECK(written == &reads[&digit::pixels](2, 0, 0));
    REQUIRE(gets.fetch(indices) == bytes);
    CHECK(std::memcmp(reads.memory.start(), gets.memory.start(), bytes) == 0);
}

TEST_CASE("A batch of fixed layout costs no allocation", "[collate]") {
    std::uint8_t* written = nullptr;
    test_batch gets(getter{});
    test_batch reads(reader{&written});
    const std::vector<stoker::index> indices{1, 2, 3, 4, 5, 6, 7, 8};
    gets.monitor.begun.reserve(100);
    reads.monitor.begun.reserve(100);
    allocations = 0;
    counting = true;
    gets.fetch(indices);
    reads.fetch(indices);
    counting = false;
    CHECK(allocations == 0);
}

TEST_CASE("Lists cost no allocation but their own", "[collate]") {
    struct lists {
        stoker::padded<std::int32_t, -1> tokens;
        stoker::ragged<float> weights;
        std::string text;
    };
    struct getter_of_lists {
        std::size_t size() const { return 100; }
        lists get(stoker::index i) const {
            lists made;
            made.tokens.resize(i);
            made.weights.resize(i);
            made.text.assign(i + 100, 'x');
            return made;
        }
    };
    test_batch batch(getter_of_lists{});
    const std::vector<stoker::index> indices{1, 2, 3, 4, 5, 6, 7, 8};
    batch.monitor.begun.reserve(100);
    allocations = 0;
    counting = true;
    batch.fetch(indices);
    counting = false;
    CHECK(allocations == 8 * 3 + 1);
}

TEST_CASE("Each sample's context knows where it is, and has numbers of its own", "[collate]") {
    test_batch batch(asks_context{});
    batch.fetch({5, 5, 5}, 40);
    auto [epoch, position, random, worker, num_workers] = batch.columns();
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(epoch[i] == 2);
        CHECK(position[i] == 40 + i);
        CHECK(worker[i] == 3);
        CHECK(num_workers[i] == 4);
        context same{1, 2, 40 + i};
        CHECK(random[i] == same.random());
    }
    CHECK(random[0] != random[1]);
}

TEST_CASE("Samples whose run-time shapes agree are stacked", "[collate]") {
    test_batch batch(sentences{{4, 4, 0, 0, 4}});
    const std::uint64_t bytes = batch.fetch({4, 0, 1});
    CHECK(bytes == 256 + 48);
    const auto tokens = batch[&sentence::tokens];
    CHECK(tokens.shape() == std::array<std::size_t, 2>{3, 4});
    CHECK(tokens(0, 3) == 40);
    CHECK(tokens(2, 0) == 10);
    CHECK(batch[&sentence::label][0] == 4);
    batch.fetch({2, 3});
    CHECK(batch[&sentence::tokens].shape() == std::array<std::size_t, 2>{2, 0});
    batch.fetch({});
    CHECK(batch[&sentence::tokens].extent(0) == 0);
}

TEST_CASE("Shapes that differ name field, both shapes and both samples [B072]", "[collate]") {
    struct picture {
        std::int64_t label;
        tensor<std::uint8_t, dynamic, dynamic, dynamic> pixels;
    };
    struct pictures {
        std::size_t size() const { return 48; }
        picture get(stoker::index i) const {
            const int width = i == 13 ? 31 : 32;
            const int channels = i == 40 ? 1 : 3;
            return {0, tensor<std::uint8_t, dynamic, dynamic, dynamic>(24, width, channels)};
        }
    };
    test_batch batch(pictures{});
    std::vector<stoker::index> first(16);
    std::vector<stoker::index> third(16);
    for (std::size_t i = 0; i < 16; ++i) {
        first[i] = i;
        third[i] = 32 + i;
    }
    CHECK(shape_error(batch, first, 13) ==
          "field 'pixels' of sample 13 has shape [24, 31, 3], that of sample 0, in the same batch, "
          "[24, 32, 3]");
    CHECK(
        shape_error(batch, third, 40) ==
        "field 'pixels' of sample 40 has shape [24, 32, 1], that of sample 32, in the same batch, "
        "[24, 32, 3]");
}

TEST_CASE("Lists of unequal length are an error, and nothing is cut off [B074]", "[collate]") {
    test_batch batch(sentences{{1, 2}});
    CHECK(shape_error(batch, {0, 1}, 1) ==
          "field 'tokens' of sample 1 has shape [2], that of sample 0, in the same batch, [1]");
    CHECK(shape_error(batch, {1, 0}, 0) ==
          "field 'tokens' of sample 0 has shape [1], that of sample 1, in the same batch, [2]");
    CHECK(batch.memory.times_asked() == 0);
}

TEST_CASE("A nested field that differs is named in full", "[collate]") {
    struct document {
        sentence title;
    };
    auto documents = sentences{{2, 3}} | stoker::map([](sentence s) { return document{s}; });
    test_batch batch(std::move(documents));
    CHECK(shape_error(batch, {0, 1}, 1).starts_with("field 'title.tokens' of sample 1"));
}

TEST_CASE("An exception of the dataset's own reaches the caller as it is [B076]", "[collate]") {
    struct throwing {
        std::size_t size() const { return 5; }
        float get(stoker::index i) const {
            if (i == 3)
                throw std::out_of_range("a reason of its own");
            return static_cast<float>(i);
        }
    };
    test_batch batch(throwing{});
    CHECK_THROWS_WITH(batch.fetch({2, 3, 4}), "a reason of its own");
    CHECK_THROWS_AS(batch.fetch({2, 3, 4}), std::out_of_range);
    CHECK(batch.monitor.begun.back() == 3);
    batch.fetch({4, 2});
    CHECK(std::get<0>(batch.columns())[0] == 4);
    CHECK(batch.fetcher().size() == 5);
}

TEST_CASE("A batch that nobody wants any more is left between two samples", "[collate]") {
    test_batch fixed(getter{});
    fixed.monitor.stop_after = 2;
    fixed.fetch({1, 2, 3, 4});
    CHECK(fixed.monitor.begun == std::vector<stoker::index>{1, 2});
    test_batch stacked(sentences{{4, 4, 4, 4}});
    stacked.monitor.stop_after = 2;
    stacked.fetch({1, 2, 3});
    CHECK(stacked.monitor.begun == std::vector<stoker::index>{1, 2});
    CHECK(stacked.memory.times_asked() == 0);
}

TEST_CASE("open calls the worker_init hook, then the dataset's open", "[collate]") {
    struct opening {
        std::vector<std::string>* calls;
        int size() const { return 1; }
        float get(stoker::index) const { return 0; }
        void open() { calls->push_back("open"); }
    };
    std::vector<std::string> calls;
    auto source = make_fetcher(opening{&calls}, [&](const stoker::worker_info& info) {
        calls.push_back("init " + std::to_string(info.id) + " of " +
                        std::to_string(info.num_workers) + ", " + std::to_string(info.seed));
    });
    source->open(1, 2, 77);
    CHECK(calls == std::vector<std::string>{"init 1 of 2, 77", "open"});
}

TEST_CASE("A shared dataset is shared, a null one is refused", "[collate]") {
    auto shared = std::make_shared<std::vector<float>>(3, 1.0f);
    test_batch batch(shared);
    (*shared)[1] = 5;
    batch.fetch({1});
    CHECK(std::get<0>(batch.columns())[0] == 5);
    CHECK_THROWS_AS(make_fetcher(std::shared_ptr<std::vector<float>>{}), stoker::error);
}

TEST_CASE("Datasets of bits and of computed values are stacked like others", "[collate]") {
    test_batch bits(std::vector<bool>{true, false, true});
    bits.fetch({0, 1, 2});
    CHECK(std::get<0>(bits.columns())[2]);
    CHECK_FALSE(std::get<0>(bits.columns())[1]);
}
