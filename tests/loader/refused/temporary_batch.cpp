// expect: columns
#include <stoker/loader/loader.hpp>
#include <vector>

struct point {
    float x;
};
float first(stoker::loader<std::vector<point>>& from) {
#ifdef CONTROL
    auto batch = from.next_blocking();
    auto [x] = batch.columns();
#else
    auto [x] = from.next_blocking().columns();
#endif
    return x(0);
}
