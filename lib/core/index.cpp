// No dataset has 2^63 samples, but -1 is the commonest slip of a hand-written sampler: the upper
// half of the range is read as negative numbers.

#include <stoker/core/index.hpp>

namespace stoker::detail {

std::string describe_index(index value) {
    const auto as_given = static_cast<std::int64_t>(value);
    return as_given < 0 ? std::to_string(as_given) : std::to_string(value);
}

}  // namespace stoker::detail
