#include <stoker/collate/dataset_fetcher.hpp>

#include <exception>
#include <string>
#include <utility>

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

void throw_worker_init_failed() {
    error_details details = describe(std::current_exception(), errc::worker_start_failed);
    details.text =
        details.text.empty() ? "worker_init threw" : "worker_init threw: " + details.text;
    throw error(std::move(details));
}

}  // namespace stoker::detail
