// expect: stoker: a loader takes each part once
#include <stoker/loader/loader.hpp>
#include <vector>

std::vector<float> numbers();
auto order() {
    return stoker::sampler{std::vector<int>{}};
}
#ifdef CONTROL
auto made = stoker::loader{numbers(), {}, order()};
#else
auto made = stoker::loader{numbers(), {}, order(), order()};
#endif
