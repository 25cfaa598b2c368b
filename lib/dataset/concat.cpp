#include <stoker/core/error.hpp>
#include <stoker/dataset/joined_dataset.hpp>

namespace stoker::detail {

std::uint64_t add_sizes(std::uint64_t end, std::uint64_t size) {
    std::uint64_t sum = 0;
    if (__builtin_add_overflow(end, size, &sum)) {
        throw error(errc::invalid_dataset,
                    "concat: the datasets have more than 2^64 samples together");
    }
    return sum;
}

}  // namespace stoker::detail
