// expect: stoker: a dataset needs size() and get(index)
#include <stoker/collate/dataset_fetcher.hpp>

struct numbers {
    int size() const { return 3; }
#ifdef CONTROL
    float get(stoker::index) const {
        return 0;
    }
#endif
};
auto fetcher = stoker::detail::make_fetcher(numbers{});
