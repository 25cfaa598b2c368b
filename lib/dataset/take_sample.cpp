#include <string>

#include <stoker/core/error.hpp>
#include <stoker/dataset/take_sample.hpp>

namespace stoker::detail {

void throw_wrong_batch(std::size_t wanted, std::size_t given) {
    throw error({.code = errc::collate_failed,
                 .text = "get(span of indices) was asked for " + std::to_string(wanted) +
                         " samples and gave " + std::to_string(given),
                 .remedy = "return one sample for each index, in their order"});
}

}  // namespace stoker::detail
