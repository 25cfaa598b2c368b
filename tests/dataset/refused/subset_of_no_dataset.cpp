// expect: or to be a sized random-access range: get(index) is missing
#include <stoker/dataset/subset.hpp>

struct numbers {
    int size() const { return 3; }
#ifdef CONTROL
    float get(stoker::index) const {
        return 0;
    }
#endif
};
auto chosen = stoker::subset(numbers{}, {0, 1});
