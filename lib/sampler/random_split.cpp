// The parts are consecutive pieces of one keyed permutation, so that they are disjoint and complete
// without anything being stored. The purpose of its key is its own: with the same seed for split
// and loader, the order within a part owes nothing to the split.

#include <stoker/sampler/random_split.hpp>

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

#include <stoker/core/error.hpp>
#include "dataset/stream_key.hpp"
#include "sampler/permutation.hpp"

namespace stoker::detail {
namespace {

[[noreturn]] void refuse(std::string text, std::string remedy) {
    throw error({.code = errc::invalid_option,
                 .text = "random_split: " + std::move(text),
                 .remedy = std::move(remedy)});
}

std::string shortest(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.12g", value);
    return text;
}

}  // namespace

std::vector<std::uint64_t> split_sizes(std::span<const double> fractions, double tolerance,
                                       std::uint64_t size) {
    double sum = 0;
    for (const double fraction : fractions) {
        if (!(fraction >= 0 && fraction <= 1))
            refuse("a fraction is " + shortest(fraction) + ", it must be from 0 to 1",
                   "give fractions that sum to 1, or counts that sum to the dataset's size");
        sum += fraction;
    }
    if (!(std::abs(sum - 1) <= tolerance))
        refuse("the fractions sum to " + shortest(sum) + ", they must sum to 1",
               "give fractions that sum to 1, or counts that sum to the dataset's size");
    std::vector<std::uint64_t> sizes;
    std::uint64_t left = size;
    for (const double fraction : fractions) {
        const double exact = std::floor(static_cast<double>(size) * fraction);
        constexpr double beyond = 9.2e18;  // what a double can hold and an integer surely can
        const auto whole = exact < beyond ? static_cast<std::uint64_t>(exact) : left;
        sizes.push_back(std::min(whole, left));
        left -= sizes.back();
    }
    const std::uint64_t rounds = left / sizes.size();
    const std::uint64_t last_round = left % sizes.size();
    for (std::size_t part = 0; part < sizes.size(); ++part)
        sizes[part] += rounds + (part < last_round ? 1 : 0);
    return sizes;
}

std::vector<std::uint64_t> split_sizes(std::span<const index> counts, std::uint64_t size) {
    std::uint64_t sum = 0;
    bool too_many = false;
    for (const index count : counts) {
        if (static_cast<std::int64_t>(count) < 0)
            refuse("a count is " + describe_index(count) + ", it must be 0 or more",
                   "give counts that sum to the dataset's size");
        too_many = too_many || __builtin_add_overflow(sum, count, &sum);
    }
    if (too_many || sum != size) {
        refuse("the counts sum to " +
                   (too_many ? std::string("more than 2^64") : std::to_string(sum)) +
                   ", but the dataset has " + std::to_string(size) + " samples",
               "give counts that sum to the dataset's size, or fractions, such as {0.8, 0.2}");
    }
    return {counts.begin(), counts.end()};
}

std::shared_ptr<const permutation> split_order(std::uint64_t size, std::uint64_t seed) {
    return std::make_shared<const permutation>(size, stream_key(stream_purpose::split, seed, 0), 0);
}

index split_choice::operator()(index i) const {
    return (*order_)(first_ + i);
}

bool opened_once::done_here() const {
    return process_ == ::getpid();
}

void opened_once::done() {
    process_ = ::getpid();
}

}  // namespace stoker::detail
