// expect: stoker: worker_init is called with a stoker::worker_info
#include <stoker/loader/loader.hpp>
#include <vector>

#ifdef CONTROL
using argument = stoker::worker_info;
#else
using argument = std::vector<int>;
#endif
std::vector<float> numbers();
auto made = stoker::loader{numbers(), {}, stoker::worker_init{[](argument) {}}};
