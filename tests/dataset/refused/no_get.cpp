// expect: or to be a sized random-access range: get(index) is missing
#include <stoker/dataset/dataset.hpp>

struct numbers {
    int size() const { return 3; }
#ifdef CONTROL
    float get(stoker::index) const {
        return 0;
    }
#endif
};
using sample = stoker::dataset_traits<numbers>::sample;
