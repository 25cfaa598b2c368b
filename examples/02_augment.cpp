// Augmentation in the workers: `dataset | map(f)`. Random numbers come from the sample's own
// generator, so that the same seed gives the same pictures for any number of workers, and another
// epoch gives others.
//
//     build/examples/02_augment
#include <cstdint>
#include <cstdlib>
#include <iostream>

#include <stoker/stoker.hpp>

struct picture {
    stoker::tensor<std::uint8_t, 32, 32> pixels;
    std::int64_t label;
};

// Pictures that are made when they are asked for: nothing is held in memory.
struct crosses {
    std::size_t size() const { return 200; }
    picture get(stoker::index i) const {
        picture made{};
        made.label = std::int64_t(i % 2);  // upright or lying
        for (std::size_t k = 8; k < 24; ++k) {
            made.pixels(k, made.label == 0 ? 16 : k) = 200;
            made.pixels(16, k) = 255;
        }
        return made;
    }
};

// A function of the sample, or of the sample and its context.
picture jitter(const picture& original, stoker::context& context) {
    picture moved{};
    moved.label = original.label;
    const std::size_t down = context.random.integer(0, std::size_t{5});
    const bool flip = context.random.coin(0.5);
    for (std::size_t y = 0; y + down < 32; ++y) {
        for (std::size_t x = 0; x < 32; ++x)
            moved.pixels(y + down, flip ? 31 - x : x) = original.pixels(y, x);
    }
    return moved;
}
picture dim(picture bright) {
    for (auto& pixel : bright.pixels)
        pixel /= 2;
    return bright;
}

std::uint64_t checksum(int num_workers, std::uint64_t seed, int epochs) {
    stoker::loader loader{crosses{} | stoker::map(jitter) | stoker::map(dim),
                          {.batch_size = 16,
                           .shuffle = true,
                           .num_workers = num_workers,
                           .seed = seed,
                           .epochs = epochs}};
    std::uint64_t sum = 0;
    for (int epoch = 0; epoch < epochs; ++epoch) {
        sum = 0;
        for (auto& batch : loader) {  // blocking: no io_context needed
            for (const auto pixel : batch[&picture::pixels].elements())
                sum = sum * 31 + pixel;
        }
    }
    return sum;  // of the last epoch
}

int main() try {
    std::cout << std::boolalpha;
    const auto reference = checksum(0, 1, 1);
    for (const int workers : {1, 2, 3})
        std::cout << workers
                  << " workers, same pictures as none: " << (checksum(workers, 1, 1) == reference)
                  << '\n';
    std::cout << "another seed, same pictures: " << (checksum(2, 2, 1) == reference) << '\n';
    std::cout << "another epoch, same pictures: " << (checksum(2, 1, 2) == reference) << '\n';
} catch (const stoker::error& failure) {
    std::cerr << failure.what() << '\n';
    return 1;
}

// Output:
// 1 workers, same pictures as none: true
// 2 workers, same pictures as none: true
// 3 workers, same pictures as none: true
// another seed, same pictures: false
// another epoch, same pictures: false
