// expect: stoker: member type cannot be collated, since it is a class with constructors
#include <stoker/collate/dataset_fetcher.hpp>
#include <vector>

struct word {
#ifndef CONTROL
    explicit word(int length) : length(length) {}
#endif
    int length;
};
auto fetcher = stoker::detail::make_fetcher(std::vector<word>{});
