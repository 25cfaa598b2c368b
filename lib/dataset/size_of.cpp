#include <stoker/core/error.hpp>
#include <stoker/dataset/size_of.hpp>

namespace stoker::detail {

void throw_null_dataset() {
    throw error(errc::invalid_dataset, "the pointer to a dataset is null");
}

}  // namespace stoker::detail
