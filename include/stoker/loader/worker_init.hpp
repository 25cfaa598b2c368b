#pragma once

#include <utility>

namespace stoker {

/// A part of a loader: a function that runs once in each worker process, before its first batch and
/// before the dataset's own `open()`; with num_workers = 0 in the calling process, before the first
/// batch. It takes a `worker_info`. What it throws comes out of `next()` as
/// errc::worker_start_failed.
///
///     stoker::loader loader{data, {.num_workers = 4}, stoker::worker_init{[](stoker::worker_info
///     w) {
///         pin_to_core(w.id);
///     }}};
///
/// Thread safety: each worker has a copy of its own.
template <class Function>
class worker_init {
  public:
    explicit worker_init(Function function) : function_(std::move(function)) {}
    Function take() && { return std::move(function_); }

  private:
    Function function_;
};

}  // namespace stoker
