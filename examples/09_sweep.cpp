// How many workers does a dataset deserve? Start at 4, then let `sweep` time pure iteration, no
// training, for several numbers of workers. The table goes to standard error, since its figures are
// this machine's.
//
//     build/examples/09_sweep
#include <cmath>
#include <cstdint>
#include <iostream>

#include <stoker/stoker.hpp>
#include <stoker/tune/sweep.hpp>

struct spectrum {
    stoker::tensor<float, 128> magnitudes;
};

// About 50 microseconds of arithmetic a sample.
struct spectra {
    std::size_t size() const { return 2000; }
    spectrum get(stoker::index i) const {
        spectrum made{};
        for (std::size_t k = 0; k < 128; ++k) {
            for (std::size_t n = 0; n < 16; ++n)
                made.magnitudes[k] += std::sin(float(i + n * k));
        }
        return made;
    }
};

int main() try {
    const auto make_loader = [](stoker::loader_options options) {
        options.batch_size = 32;
        return stoker::loader{spectra{}, options};
    };
    const auto result = stoker::sweep(make_loader, {.num_workers = {0, 2, 4}});
    std::cout << std::boolalpha;
    std::cerr << result.table() << result.paste();
    for (const auto& row : result.rows)
        std::cout << row.num_workers << " workers: measured " << (row.samples_per_second > 0)
                  << '\n';
} catch (const stoker::error& failure) {
    std::cerr << failure.what() << '\n';
    return 1;
}

// Output:
// 0 workers: measured true
// 2 workers: measured true
// 4 workers: measured true
