#pragma once

#include <cstdint>
#include <memory>
#include <stoker/sampler/index_source.hpp>

namespace stoker::detail {

/// The order of a loader without a sampler: 0 to size - 1, or, with `shuffle`, a permutation of
/// them for each epoch that (seed, epoch) decides, computed and never stored. Each index comes once
/// an epoch; with `drop_last` those of a smaller last batch do not come, other ones each epoch.
/// Size 0 is an epoch without batches. Throws error{invalid_option} when `batch_size` is 0.
std::unique_ptr<index_source> make_default_source(std::uint64_t size, std::uint64_t batch_size,
                                                  bool shuffle, bool drop_last, std::uint64_t seed);

}  // namespace stoker::detail
