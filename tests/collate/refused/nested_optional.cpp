// expect: stoker: a std::optional of a std::optional cannot be collated
#include <optional>
#include <stoker/collate/dataset_fetcher.hpp>
#include <vector>

struct sentence {
#ifdef CONTROL
    std::optional<int> label;
#else
    std::optional<std::optional<int>> label;
#endif
};
auto fetcher = stoker::detail::make_fetcher(std::vector<sentence>(3));
