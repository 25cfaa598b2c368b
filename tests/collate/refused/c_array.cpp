// expect: use std::array or stoker::tensor in place of T member[N]
#include <array>
#include <stoker/collate/dataset_fetcher.hpp>
#include <vector>

struct point {
#ifdef CONTROL
    std::array<float, 3> position;
#else
    float position[3];
#endif
    int label;
};
auto fetcher = stoker::detail::make_fetcher(std::vector<point>(3));
