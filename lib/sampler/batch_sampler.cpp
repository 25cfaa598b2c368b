#include <stoker/core/error.hpp>
#include <stoker/sampler/batch_sampler.hpp>
#include <string>

namespace stoker::detail {

void refuse_empty_batch(std::uint64_t epoch, std::uint64_t number) {
    throw error{error_details{.code = errc::invalid_option,
                              .text = "the batch sampler gave an empty list as batch " +
                                      std::to_string(number) + " of epoch " + std::to_string(epoch),
                              .remedy = "leave empty lists out of the batch sampler"}};
}

}  // namespace stoker::detail
