#pragma once
// Datasets of every kind of access for the tests of composition, and what they deliver.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <stoker/core/error.hpp>
#include <stoker/dataset/dataset.hpp>
#include <stoker/tensor/tensor.hpp>

namespace stoker::test_dataset {

struct number {
    std::int64_t value = 0;
};
inline number doubled(const number& n) {
    return {2 * n.value};
}

/// Sample i is i.
struct numbers {
    std::size_t count = 0;
    std::size_t size() const { return count; }
    number get(index i) const { return {static_cast<std::int64_t>(i)}; }
};
/// Five of them, each of which draws from its generator.
struct drawn_numbers {
    std::size_t size() const { return 5; }
    number get(index i, context& c) const {
        c.random();
        return {static_cast<std::int64_t>(i)};
    }
};
/// Five, written into rows; move-only; counts how often it is opened.
struct row_numbers {
    std::unique_ptr<int> move_only{};
    int* opened = nullptr;
    int size() const { return 5; }
    void open() { ++*opened; }
    void read(index i, row<number> place) const {
        place[&number::value] = static_cast<std::int64_t>(i);
    }
};
/// Five, written into rows, with a context.
struct drawn_rows {
    int size() const { return 5; }
    void read(index i, row<number> place, context& c) const {
        place[&number::value] = static_cast<std::int64_t>(i + 100 * c.position());
    }
};
struct word {
    tensor<char, dynamic> letters;
};
/// Three words, of as many letters as their index says.
struct words {
    using sample = word;
    int size() const { return 3; }
    word get(index i) const { return {tensor<char, dynamic>(i)}; }
};

/// Sample i of a dataset, however it is accessed.
template <class D>
number take(D& dataset, index i) {
    using access = detail::dataset_access<D>;
    context c{1, 0, i};
    number made{-1};
    std::byte* place = reinterpret_cast<std::byte*>(&made);
    const row<number> here(&place, 0);
    if constexpr (access::reads && access::uses_context) {
        dataset.read(i, here, c);
    } else if constexpr (access::reads) {
        dataset.read(i, here);
    } else if constexpr (access::uses_context) {
        made = dataset.get(i, c);
    } else {
        made = dataset.get(i);
    }
    return made;
}
template <class D>
std::vector<std::int64_t> values_of(D&& dataset) {
    std::vector<std::int64_t> values;
    for (index i = 0; i < dataset.size(); ++i)
        values.push_back(take(dataset, i).value);
    return values;
}

/// The text of the error that `call` throws.
template <class Call>
std::string refusal(Call&& call) {
    try {
        std::forward<Call>(call)();
    } catch (const error& e) {
        return e.text();
    }
    return "no error";
}

}  // namespace stoker::test_dataset
