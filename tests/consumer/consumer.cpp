// Uses stoker as a stranger would: its public headers and its library alone, with worker processes.
#include <iostream>
#include <stoker/stoker.hpp>
#include <vector>

int main() {
    std::vector<int> numbers{1, 2, 3, 4, 5};
    stoker::loader loader{numbers, {.batch_size = 2, .shuffle = true, .num_workers = 2}};
    int sum = 0;
    for (auto& batch : loader) {
        auto [column] = batch.columns();
        for (int number : column)
            sum += number;
    }
    std::cout << "the sum is " << sum << '\n';
    return sum == 15 ? 0 : 1;
}
