// expect: stoker: a struct in a std::optional may not have a member named present
#include <optional>
#include <stoker/collate/dataset_fetcher.hpp>
#include <vector>

struct guest {
    int id;
#ifdef CONTROL
    bool here;
#else
    bool present;
#endif
};
struct table {
    std::optional<guest> first;
};
auto fetcher = stoker::detail::make_fetcher(std::vector<table>(3));
