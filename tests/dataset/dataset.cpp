#include <cstdint>
#include <memory>
#include <range/v3/view/iota.hpp>
#include <range/v3/view/transform.hpp>
#include <ranges>
#include <stoker/core/error.hpp>
#include <stoker/dataset/dataset.hpp>
#include <stoker/tensor/tensor.hpp>
#include <string>
#include <vector>

#include "support/catch.hpp"

namespace {

using stoker::context;
using stoker::dataset;
using stoker::dataset_traits;
using stoker::index;
using stoker::row;
using stoker::detail::dataset_access;

struct digit {
    stoker::tensor<std::uint8_t, 8, 8> pixels;
    std::int64_t label;
};
digit labelled(std::int64_t label) {
    return {{}, label};
}

struct plain {
    std::size_t size() const { return 3; }
    digit get(index i) const { return labelled(static_cast<std::int64_t>(i)); }
};
struct changing {  // neither is const
    int calls = 0;
    int size() { return 3; }
    digit get(index) { return labelled(++calls); }
};
struct with_context {
    int size() const { return 3; }
    digit get(index) const { return labelled(-1); }
    digit get(index, context& c) const { return labelled(static_cast<std::int64_t>(c.position())); }
};
struct reader {
    std::unique_ptr<int> pool{};  // move-only
    int opened = 0;
    unsigned size() const { return 3; }
    digit get(index) const { return labelled(-1); }
    void read(index i, row<digit> place) const noexcept {
        place[&digit::label] = static_cast<std::int64_t>(i);
    }
    void open() { ++opened; }
};
struct generic_reader {
    using sample = digit;
    int size() const { return 3; }
    void read(index, auto place, context& c) const {
        place[&digit::label] = static_cast<std::int64_t>(c.epoch());
    }
};
struct negative {
    int size() const { return -1; }
    int get(index) const { return 0; }
};
struct no_size {
    digit get(index) const { return labelled(0); }
};
struct no_get {
    int size() const { return 3; }
};
struct void_get {
    int size() const { return 3; }
    void get(index) const {}
};

using standard_range =
    decltype(std::views::iota(0, 1000) | std::views::transform([](int i) { return labelled(i); }));
using other_range = decltype(ranges::views::iota(0, 9) |
                             ranges::views::transform([](int i) { return labelled(i); }));

static_assert(dataset<plain> && dataset<changing> && dataset<with_context> && dataset<reader> &&
              dataset<generic_reader> && dataset<negative>);
static_assert(dataset<std::vector<digit>> && dataset<standard_range> && dataset<other_range>);
static_assert(dataset<std::vector<bool>> && dataset<std::string>);
static_assert(dataset<std::shared_ptr<plain>> && dataset<std::shared_ptr<const plain>> &&
              dataset<std::unique_ptr<reader>> && dataset<std::shared_ptr<std::vector<digit>>>);
static_assert(dataset<const plain&>);
static_assert(!dataset<no_size> && !dataset<no_get> && !dataset<void_get>);
static_assert(!dataset<std::shared_ptr<const changing>>, "its get is not const");
static_assert(!dataset<int> && !dataset<digit> && !dataset<int*>);

template <class D>
using sample_of = typename dataset_traits<D>::sample;
static_assert(std::is_same_v<sample_of<plain>, digit>);
static_assert(std::is_same_v<sample_of<reader>, digit>);
static_assert(std::is_same_v<sample_of<generic_reader>, digit>);
static_assert(std::is_same_v<sample_of<std::shared_ptr<std::vector<digit>>>, digit>);
static_assert(std::is_same_v<sample_of<std::vector<bool>>, bool>);
static_assert(std::is_same_v<sample_of<standard_range>, digit>);
static_assert(std::is_same_v<sample_of<other_range>, digit>);
static_assert(std::is_same_v<sample_of<negative>, int>);
static_assert(dataset_traits<reader>::reads && dataset_traits<std::unique_ptr<reader>>::reads);
static_assert(dataset_traits<with_context>::uses_context);
static_assert(!dataset_traits<plain>::uses_context);

template <class D>
std::int64_t label_at(D dataset, index i) {
    return dataset_access<D>::get(dataset, i).label;
}

}  // namespace

TEST_CASE("All kinds of datasets give their samples", "[dataset]") {
    CHECK(label_at(plain{}, 2) == 2);
    CHECK(label_at(changing{}, 2) == 1);
    CHECK(label_at(std::make_shared<const plain>(), 1) == 1);
    CHECK(label_at(std::vector<digit>{labelled(5), labelled(6)}, 1) == 6);
    CHECK(label_at(std::make_shared<std::vector<digit>>(2, labelled(8)), 1) == 8);
    CHECK(label_at(std::views::iota(0, 1000) | std::views::transform(labelled), 999) == 999);
    CHECK(label_at(ranges::views::iota(0, 1000) | ranges::views::transform(labelled), 998) == 998);
}

TEST_CASE("A dataset in memory is not copied on the way out", "[dataset]") {
    std::vector<digit> digits(3);
    const digit& taken = dataset_access<std::vector<digit>>::get(digits, 1);
    CHECK(&taken == &digits[1]);
}

TEST_CASE("get with a context is preferred to get without, and read to both", "[dataset]") {
    with_context source;
    context c{1, 2, 17};
    CHECK(dataset_access<with_context>::get(source, 0, c).label == 17);
    static_assert(dataset_access<reader>::kind == stoker::detail::access_kind::read);
    reader reads;
    digit made = labelled(0);
    std::array<std::byte*, 2> places{};
    stoker::detail::point_into(made, places.data());
    dataset_access<reader>::read(reads, 2, row<digit>(places.data(), 0));
    CHECK(made.label == 2);
    generic_reader generic;
    dataset_access<generic_reader>::read(generic, 2, row<digit>(places.data(), 0), c);
    CHECK(made.label == 2);  // the epoch
}

TEST_CASE("Sizes of any integer type are understood, negative ones refused", "[dataset]") {
    auto longs = std::views::iota(std::int64_t{5}, std::int64_t{5'000'000'000});  // 128-bit size
    CHECK(dataset_access<decltype(longs)>::size(longs) == 4'999'999'995u);
    auto pointer = std::make_unique<reader>();
    CHECK(dataset_access<std::unique_ptr<reader>>::size(pointer) == 3);
    negative below;
    try {
        const std::uint64_t size = dataset_access<negative>::size(below);
        FAIL("was accepted as " << size);
    } catch (const stoker::error& error) {
        CHECK(error.code() == stoker::errc::invalid_dataset);
        CHECK(error.text() == "its size() is -1");
    }
}

TEST_CASE("open is called where there is one", "[dataset]") {
    auto shared = std::make_shared<reader>();
    dataset_access<std::shared_ptr<reader>>::open(shared);
    CHECK(shared->opened == 1);
    plain none;
    dataset_access<plain>::open(none);
}
