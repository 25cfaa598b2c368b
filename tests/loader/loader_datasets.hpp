#pragma once
// Small datasets that the loader's tests share.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <stoker/stoker.hpp>

namespace stoker::test_loader {

struct number {
    std::int64_t value = 0;
    std::int32_t squared = 0;
};

/// `count` samples; sample i is {i, i·i}.
struct numbers {
    std::size_t count = 0;
    std::size_t size() const { return count; }
    number get(index i) const {
        const auto value = static_cast<std::int64_t>(i);
        return {value, static_cast<std::int32_t>(value * value)};
    }
};

/// Sample i takes `delay(i)` milliseconds.
struct slow_numbers {
    std::size_t count = 0;
    int (*delay)(index) = nullptr;
    std::size_t size() const { return count; }
    number get(index i) const {
        std::this_thread::sleep_for(std::chrono::milliseconds(delay(i)));
        return {static_cast<std::int64_t>(i), 0};
    }
};

/// Throws std::out_of_range, for reasons of its own, for one sample.
struct failing_numbers {
    std::size_t count = 0;
    index culprit = 0;
    std::size_t size() const { return count; }
    number get(index i) const {
        if (i == culprit)
            throw std::out_of_range("row " + std::to_string(i) + " is damaged");
        return {static_cast<std::int64_t>(i), 0};
    }
};

/// Samples drawn from the generator of the context.
struct drawn {
    std::uint64_t bits = 0;
    std::uint64_t epoch = 0;
    std::uint64_t position = 0;
};
struct draws {
    std::size_t count = 0;
    std::size_t size() const { return count; }
    drawn get(index, context& c) const { return {c.random(), c.epoch(), c.position()}; }
};

/// The values of one epoch, batch by batch, by the blocking call.
template <class Loader>
std::vector<std::vector<std::int64_t>> read_epoch(Loader& loader) {
    std::vector<std::vector<std::int64_t>> batches;
    while (auto batch = loader.next_blocking()) {
        auto values = batch[&number::value];
        batches.emplace_back(values.begin(), values.end());
    }
    return batches;
}

inline std::vector<std::int64_t> flatten(const std::vector<std::vector<std::int64_t>>& batches) {
    std::vector<std::int64_t> all;
    for (const auto& batch : batches)
        all.insert(all.end(), batch.begin(), batch.end());
    return all;
}

inline std::vector<std::int64_t> count_to(std::int64_t end) {
    std::vector<std::int64_t> all;
    for (std::int64_t i = 0; i < end; ++i)
        all.push_back(i);
    return all;
}

}  // namespace stoker::test_loader
