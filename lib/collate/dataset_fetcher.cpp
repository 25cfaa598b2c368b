#include <stoker/collate/dataset_fetcher.hpp>
#include <stoker/core/error.hpp>

namespace stoker::detail {

void throw_missing_dataset() {
    throw error({.code = errc::invalid_dataset,
                 .text = "the pointer to it is null",
                 .remedy = "make the dataset before the loader"});
}

}  // namespace stoker::detail
