// expect: stoker: member type cannot be collated; use stoker::tensor, arithmetic types
#include <stoker/collate/dataset_fetcher.hpp>
#include <stoker/tensor/tensor.hpp>
#include <vector>

struct sentence {
#ifdef CONTROL
    stoker::tensor<int, stoker::dynamic> tokens;
#else
    std::vector<int> tokens;
#endif
    int label;
};
auto fetcher = stoker::detail::make_fetcher(std::vector<sentence>(3));
