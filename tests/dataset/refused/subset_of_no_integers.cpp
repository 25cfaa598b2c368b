// expect: stoker: subset(dataset, indices) needs a range of integers
#include <stoker/dataset/subset.hpp>
#include <vector>

#ifdef CONTROL
std::vector<int> indices{0, 1};
#else
std::vector<double> indices{0, 1};
#endif
auto chosen = stoker::subset(std::vector<float>(3), indices);
