#pragma once

#include <cstdint>
#include <exception>

#include <stoker/loader/loader_options.hpp>

namespace stoker::detail {

/// Throws error{invalid_option} that lists every option out of range, with its value and range, and
/// every mix that cannot work.
void check_options(const loader_options& options, bool has_sampler, bool has_batch_sampler);

/// Throws error{invalid_option} when an option needs a dataset with coroutines and this is none.
void check_coroutines(const loader_options& options, bool waits);

/// What an epoch without a single batch is: an error when it had samples, all of which drop_last
/// leaves out, or when epochs without end would have none. Otherwise null.
std::exception_ptr complaint_of_empty_epoch(const loader_options& options,
                                            std::uint64_t samples_left_out);

/// A replace_bad part makes on_bad `replace`. Throws error{invalid_option} for one without the
/// other, or attempts out of range.
void choose_replacement(loader_options& options, bool given, int attempts);

}  // namespace stoker::detail
