// expect: stoker: member type cannot be collated, since a pointer means nothing
#include <stoker/collate/dataset_fetcher.hpp>
#include <vector>

struct word {
#ifdef CONTROL
    char text;
#else
    const char* text;
#endif
};
auto fetcher = stoker::detail::make_fetcher(std::vector<word>{});
