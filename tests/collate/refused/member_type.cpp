// expect: stoker: member type cannot be collated
#include <map>
#include <stoker/collate/dataset_fetcher.hpp>
#include <stoker/dataset/ragged.hpp>
#include <vector>

struct sentence {
#ifdef CONTROL
    stoker::ragged<int> counts;
#else
    std::map<int, int> counts;
#endif
    int label;
};
auto fetcher = stoker::detail::make_fetcher(std::vector<sentence>(3));
