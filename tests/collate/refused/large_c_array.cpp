// expect: use std::array or stoker::tensor in place of T member[N]
#include <cstdint>
#include <stoker/collate/dataset_fetcher.hpp>
#include <stoker/tensor/tensor.hpp>
#include <vector>

struct image {
#ifdef CONTROL
    stoker::tensor<std::uint8_t, 224 * 224 * 3> pixels;
#else
    std::uint8_t pixels[224 * 224 * 3];
#endif
    int label;
};
auto fetcher = stoker::detail::make_fetcher(std::vector<image>(3));
