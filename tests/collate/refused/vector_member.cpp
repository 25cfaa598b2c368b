// expect: stoker: a std::vector member does not say how it is collated; use stoker::padded
#include <stoker/collate/dataset_fetcher.hpp>
#include <vector>

struct sentence {
#ifdef CONTROL
    stoker::padded<int, -1> tokens;
#else
    std::vector<int> tokens;
#endif
    int label;
};
auto fetcher = stoker::detail::make_fetcher(std::vector<sentence>(3));
