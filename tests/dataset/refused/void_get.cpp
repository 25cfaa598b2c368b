// expect: stoker: a dataset's get(index) returns the sample, not void
#include <stoker/dataset/dataset.hpp>

struct numbers {
    int size() const { return 3; }
#ifdef CONTROL
    float get(stoker::index) const {
        return 0;
    }
#else
    void get(stoker::index) const {}
#endif
};
using sample = stoker::dataset_traits<numbers>::sample;
