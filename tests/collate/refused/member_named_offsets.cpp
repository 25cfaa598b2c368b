// expect: stoker: a struct in a stoker::ragged may not have a member named offsets
#include <stoker/collate/dataset_fetcher.hpp>
#include <vector>

struct span {
    int begin;
#ifdef CONTROL
    int shifts;
#else
    int offsets;
#endif
};
struct sentence {
    stoker::ragged<span> spans;
};
auto fetcher = stoker::detail::make_fetcher(std::vector<sentence>(3));
