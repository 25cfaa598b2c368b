// expect: stoker: after the options a loader takes stoker::sampler, stoker::batch_sampler
#include <stoker/loader/loader.hpp>
#include <vector>

std::vector<float> numbers();
#ifdef CONTROL
auto made = stoker::loader{numbers(), {}, stoker::sampler{std::vector<int>{}}};
#else
auto made = stoker::loader{numbers(), {}, std::vector<int>{}};
#endif
