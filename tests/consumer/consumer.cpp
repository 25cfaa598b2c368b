// Uses stoker as a stranger would: its public headers and its library alone, with worker processes.
#include <cstdint>
#include <iostream>
#include <stoker/stoker.hpp>
#include <vector>

struct sample {
    std::int64_t value;
};

int main() {
    std::vector<sample> samples{{1}, {2}, {3}, {4}, {5}};
    stoker::loader loader{samples, {.batch_size = 2, .shuffle = true, .num_workers = 2}};
    std::int64_t sum = 0;
    for (auto& batch : loader) {
        const auto [values] = batch.columns();
        for (std::uint64_t row = 0; row < values.extent(0); ++row) {
            sum += values[row];
        }
    }
    std::cout << "the sum is " << sum << '\n';
    return sum == 15 ? 0 : 1;
}
