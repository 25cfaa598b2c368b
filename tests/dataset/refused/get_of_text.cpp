// expect: get(index) is missing
#include <stoker/dataset/dataset.hpp>
#include <string>

#ifdef CONTROL
using key = stoker::index;
#else
using key = std::string;
#endif
struct numbers {
    int size() const { return 3; }
    float get(key) const { return 0; }
};
using sample = stoker::dataset_traits<numbers>::sample;
