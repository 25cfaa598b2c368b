// expect: stoker: ragged<T> holds elements, tensors and std::arrays of static extents, or plain
#include <stoker/collate/dataset_fetcher.hpp>
#include <string>
#include <vector>

struct word {
    int id;
#ifndef CONTROL
    std::string text;
#endif
};
struct sentence {
    stoker::ragged<word> words;
};
auto fetcher = stoker::detail::make_fetcher(std::vector<sentence>(3));
