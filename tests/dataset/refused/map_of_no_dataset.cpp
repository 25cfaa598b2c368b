// expect: stoker: a dataset needs size() and get(index)
#include <stoker/dataset/map.hpp>

struct numbers {
    int size() const { return 3; }
#ifdef CONTROL
    float get(stoker::index) const {
        return 0;
    }
#endif
};
auto changed = numbers{} | stoker::map([](float sample) { return sample; });
