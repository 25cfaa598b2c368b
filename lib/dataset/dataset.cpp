#include <string>

#include <stoker/core/error.hpp>
#include <stoker/dataset/dataset.hpp>

namespace stoker::detail {

void throw_negative_size(std::int64_t size) {
    throw error({.code = errc::invalid_dataset,
                 .text = "its size() is " + std::to_string(size),
                 .remedy = "return the number of samples, 0 or more, from size()"});
}

}  // namespace stoker::detail
