#include <stoker/collate/dataset_fetcher.hpp>

#include <string>

#include <stoker/core/error.hpp>

namespace stoker::detail {

void throw_missing_dataset() {
    throw error({.code = errc::invalid_dataset,
                 .text = "the pointer to it is null",
                 .remedy = "make the dataset before the loader"});
}

void throw_coroutine_called() {
    throw error(errc::invalid_dataset, "a coroutine dataset was called without an io_context");
}

}  // namespace stoker::detail
