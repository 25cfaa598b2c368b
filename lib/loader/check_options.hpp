#pragma once

#include <cstdint>
#include <optional>

#include <stoker/loader/loader_options.hpp>

namespace stoker::detail {

/// Throws error{invalid_option} that lists every option out of range, with its value and range, and
/// every mix that cannot work.
void check_options(const loader_options& options, bool has_sampler, bool has_batch_sampler);

/// Throws error{invalid_option} when an option needs a dataset with coroutines and this is none.
void check_coroutines(const loader_options& options, bool waits);

/// Once the dataset's size is known: throws when the options leave it without a single batch.
void check_yield(const loader_options& options, std::uint64_t dataset_size,
                 std::optional<std::uint64_t> batches_an_epoch);

/// A replace_bad part makes on_bad `replace`. Throws error{invalid_option} for one without the
/// other, or attempts out of range.
void choose_replacement(loader_options& options, bool given, int attempts);

}  // namespace stoker::detail
