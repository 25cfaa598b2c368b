#include <cstdint>
#include <memory>
#include <stoker/dataset/map.hpp>
#include <stoker/tensor/tensor.hpp>
#include <type_traits>
#include <vector>

#include "support/catch.hpp"

namespace {

using stoker::context;
using stoker::index;
using stoker::map;

struct digit {
    stoker::tensor<std::uint8_t, 2, 2> pixels;
    std::int64_t label;
};
digit add_position(digit sample, context& c) {
    sample.label += static_cast<std::int64_t>(100 * c.position());
    return sample;
}
digit twice(digit sample) {
    sample.label *= 2;
    return sample;
}
struct counting {
    std::unique_ptr<int> move_only{};
    int* opened = nullptr;
    int size() const { return 10; }
    void open() { ++*opened; }
    void read(index i, stoker::row<digit> row) const {
        row = digit{{1, 2, 3, 4}, static_cast<std::int64_t>(i)};
    }
};
std::vector<digit> digits() {
    return {{{}, 1}, {{}, 2}, {{}, 3}};
}

template <class D>
using sample_of = typename stoker::dataset_traits<D>::sample;
using to_float =
    decltype(digits() | map([](const digit& d) { return static_cast<float>(d.label); }));
static_assert(stoker::dataset<to_float>);
static_assert(std::is_same_v<sample_of<to_float>, float>);
static_assert(!stoker::dataset_traits<decltype(digits() | map(twice))>::uses_context);
static_assert(stoker::dataset_traits<decltype(digits() | map(add_position))>::uses_context);
static_assert(
    stoker::dataset_traits<decltype(digits() | map(add_position) | map(twice))>::uses_context,
    "a stage below that needs the context gets it");

}  // namespace

TEST_CASE("map applies its function to each sample", "[dataset]") {
    auto mapped = digits() | map(twice);
    CHECK(mapped.size() == 3);
    CHECK(mapped.get(2).label == 6);
    CHECK(mapped.get(2).label == 6);  // the dataset below has not changed
}

TEST_CASE("Stages compose in the order in which they are written, with one context", "[dataset]") {
    context c{1, 0, 7};
    auto first_position = digits() | map(add_position) | map(twice);
    CHECK(first_position.get(0, c).label == 2 * (1 + 700));
    auto first_twice = digits() | map(twice) | map(add_position);
    CHECK(first_twice.get(0, c).label == 2 + 700);
    auto changed_type = digits() | map([](const digit& d) { return d.label; }) |
                        map([](std::int64_t label) { return static_cast<double>(label) / 2; });
    CHECK(changed_type.get(0) == 0.5);
}

TEST_CASE("Stages draw from one generator, one after the other", "[dataset]") {
    const auto draw = [](digit, context& c) { return c.random(); };
    const auto draw_again = [](auto first, context& c) { return std::array{first, c.random()}; };
    auto drawn = digits() | map(draw) | map(draw_again);
    context c{1, 0, 0};
    const auto numbers = drawn.get(0, c);
    context fresh{1, 0, 0};
    CHECK(numbers[0] == fresh.random());
    CHECK(numbers[1] == fresh.random());
}

TEST_CASE("A move-only dataset that reads rows can be mapped, and is opened", "[dataset]") {
    int opened = 0;
    auto mapped = counting{nullptr, &opened} | map(twice);
    CHECK(mapped.get(4).label == 8);
    CHECK(mapped.get(4).pixels(1, 1) == 4);
    mapped.open();
    CHECK(opened == 1);
}

TEST_CASE("A shared dataset stays shared below a map", "[dataset]") {
    const auto shared = std::make_shared<std::vector<digit>>(digits());
    auto mapped = shared | map(twice);
    (*shared)[0].label = 50;
    CHECK(mapped.get(0).label == 100);
}

TEST_CASE("A function may keep state and be called without const", "[dataset]") {
    auto mapped = digits() | map([calls = 0](const digit&) mutable { return ++calls; });
    CHECK(mapped.get(0) == 1);
    CHECK(mapped.get(0) == 2);
}
