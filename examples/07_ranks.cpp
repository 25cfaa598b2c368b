// Several training processes, each with its share of every epoch: samplers are ranges, so the
// order of a rank is a view. Each epoch is another permutation, the same on all ranks, of which
// rank r takes every n-th; the tail that would make ranks unequal is left out.
//
//     RANK=1 WORLD_SIZE=3 build/examples/07_ranks          (without the variables: all ranks here)
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <stoker/stoker.hpp>

struct number {
    std::int64_t value;
};

struct numbers {
    std::size_t size() const { return 1000; }
    number get(stoker::index i) const { return {std::int64_t(i)}; }
};

struct rank {
    std::uint64_t number = 0;
    std::uint64_t count = 1;
};

std::uint64_t from_environment(const char* name) {
    const char* text = std::getenv(name);
    char* end = nullptr;
    const auto value = text == nullptr ? 0 : std::strtoull(text, &end, 10);
    if (text == nullptr || end == text || *end != '\0')
        throw std::runtime_error(std::string(name) + " must be a number");
    return value;
}

// The sampler: called with the number of the epoch, gives the rank's indices in their order.
auto share_of(rank own, std::uint64_t size) {
    return [own, size](std::uint64_t epoch) {
        stoker::random random{17, epoch, 0};
        std::vector<std::uint64_t> order(size);
        for (std::uint64_t i = 0; i < size; ++i) {  // Fisher and Yates, from the inside out
            const std::uint64_t j = random.integer(0, i + 1);
            order[i] = order[j];
            order[j] = i;
        }
        std::vector<std::uint64_t> share;
        for (std::uint64_t i = own.number; i < size / own.count * own.count; i += own.count)
            share.push_back(order[i]);
        return share;
    };
}

void train(rank own, std::set<std::int64_t>& seen) {
    const numbers dataset;
    stoker::loader loader{dataset,
                          {.batch_size = 32, .num_workers = 2, .drop_last = true},
                          stoker::sampler{share_of(own, dataset.size())}};
    int steps = 0;
    for (auto& batch : loader) {
        const auto values = batch[&number::value];
        seen.insert(values.begin(), values.end());
        ++steps;
    }
    std::cout << "rank " << own.number << " of " << own.count << ": " << steps << " steps\n";
}

int main() try {
    std::set<std::int64_t> seen;
    if (std::getenv("RANK") != nullptr) {
        const rank own{from_environment("RANK"), from_environment("WORLD_SIZE")};
        if (own.number >= own.count)
            throw std::runtime_error("RANK must be less than WORLD_SIZE");
        train(own, seen);
        return 0;
    }
    for (std::uint64_t number = 0; number < 3; ++number)
        train({number, 3}, seen);
    std::cout << seen.size() << " distinct samples in 3 × 10 × 32\n";
} catch (const std::exception& failure) {
    std::cerr << failure.what() << '\n';
    return 1;
}

// Output:
// rank 0 of 3: 10 steps
// rank 1 of 3: 10 steps
// rank 2 of 3: 10 steps
// 960 distinct samples in 3 × 10 × 32
