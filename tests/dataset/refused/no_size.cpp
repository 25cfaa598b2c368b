// expect: or to be a sized random-access range: size() is missing
#include <stoker/dataset/dataset.hpp>

struct numbers {
#ifdef CONTROL
    int size() const {
        return 3;
    }
#endif
    float get(stoker::index) const {
        return 0;
    }
};
using sample = stoker::dataset_traits<numbers>::sample;
