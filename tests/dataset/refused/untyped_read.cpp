// expect: stoker: a dataset with read(index, row) needs `using sample = …;`
#include <stoker/dataset/dataset.hpp>

struct photo {
    float brightness;
};
struct photos {
#ifdef CONTROL
    using sample = photo;
#endif
    int size() const {
        return 3;
    }
    void read(stoker::index, auto row) const {
        row[&photo::brightness] = 0;
    }
};
using sample = stoker::dataset_traits<photos>::sample;
