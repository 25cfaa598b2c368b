// expect: stoker::sampler needs a forward range of integers
#include <stoker/sampler/sampler.hpp>
#include <vector>

#ifdef CONTROL
using number = int;
#else
using number = double;
#endif
auto order = stoker::sampler{std::vector<number>{0, 1}};
