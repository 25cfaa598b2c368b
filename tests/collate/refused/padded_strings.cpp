// expect: stoker: padded<T, value> holds elements, or tensors and std::arrays of static extents
#include <stoker/collate/dataset_fetcher.hpp>
#include <string>
#include <vector>

struct sentence {
#ifdef CONTROL
    stoker::padded<int> words;
#else
    stoker::padded<std::string> words;
#endif
};
auto fetcher = stoker::detail::make_fetcher(std::vector<sentence>(3));
