// expect: stoker::batch_sampler needs a forward range of ranges of integers
#include <stoker/sampler/batch_sampler.hpp>
#include <vector>

#ifdef CONTROL
using list = std::vector<int>;
#else
using list = int;
#endif
auto order = stoker::batch_sampler{std::vector<list>(3)};
