// No dataset has 2^63 samples, but -1 is the commonest slip of a hand-written sampler: the upper
// half of the range is read as negative numbers.

#include <stoker/core/error.hpp>
#include <stoker/core/index.hpp>

namespace stoker::detail {

std::string describe_index(index value) {
    const auto as_given = static_cast<std::int64_t>(value);
    return as_given < 0 ? std::to_string(as_given) : std::to_string(value);
}

std::string describe_out_of_range(index value, std::uint64_t size) {
    return "index " + describe_index(value) + " is out of range: the dataset has " +
           std::to_string(size) + (size == 1 ? " sample" : " samples");
}

void throw_out_of_range(index value, std::uint64_t size) {
    throw error({.code = errc::index_out_of_range,
                 .text = describe_out_of_range(value, size),
                 .sample = value});
}

}  // namespace stoker::detail
