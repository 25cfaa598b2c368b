// expect: get(index) is missing, or it is private, or not const behind a const
#include <memory>
#include <stoker/dataset/dataset.hpp>

struct numbers {
    int size() const { return 3; }
    float get(stoker::index) { return 0; }
};
#ifdef CONTROL
using sample = stoker::dataset_traits<std::shared_ptr<numbers>>::sample;
#else
using sample = stoker::dataset_traits<std::shared_ptr<const numbers>>::sample;
#endif
