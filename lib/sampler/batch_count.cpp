#include <stoker/core/error.hpp>
#include <stoker/sampler/batch_count.hpp>

namespace stoker::detail {

std::uint64_t batch_count(std::uint64_t size, std::uint64_t batch_size, bool drop_last) {
    require_batch_size(batch_size);
    const bool partial = size % batch_size != 0;
    return size / batch_size + (partial && !drop_last ? 1 : 0);
}

void require_batch_size(std::uint64_t batch_size) {
    if (batch_size == 0) {
        throw error{errc::invalid_option, "batch_size is 0, but must be at least 1"};
    }
}

}  // namespace stoker::detail
