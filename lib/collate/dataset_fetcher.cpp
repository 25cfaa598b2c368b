#include <stoker/collate/dataset_fetcher.hpp>

#include <string>

#include <stoker/core/error.hpp>

namespace stoker::detail {

void throw_missing_dataset() {
    throw error({.code = errc::invalid_dataset,
                 .text = "the pointer to it is null",
                 .remedy = "make the dataset before the loader"});
}

void throw_wrong_batch(std::size_t wanted, std::size_t given) {
    throw error({.code = errc::collate_failed,
                 .text = "get(span of indices) was asked for " + std::to_string(wanted) +
                         " samples and gave " + std::to_string(given),
                 .remedy = "return one sample for each index, in their order"});
}

void throw_coroutine_called() {
    throw error(errc::invalid_dataset, "a coroutine dataset was called without an io_context");
}

}  // namespace stoker::detail
