// expect: stoker: concat(a, b, …) needs datasets of one sample type
#include <stoker/dataset/concat.hpp>
#include <vector>

#ifdef CONTROL
using other = float;
#else
using other = double;
#endif
auto joined = stoker::concat(std::vector<float>(3), std::vector<other>(3));
