#pragma once

#include <utility>

namespace stoker {

/// A part of a loader: which sample comes in the place of a bad one. It makes `on_bad` `replace`.
///
///     stoker::loader loader{images, {.batch_size = 64, .num_workers = 4},
///                           stoker::replace_bad{[](stoker::bad_sample& bad) {
///                               return bad.random.integer(0, bad.size);
///                           }}};
///
/// The function takes a `bad_sample&` and gives the index of another sample, which is made in the
/// same place of the same batch: batches keep their sizes, `batch.indices()` has the index of what
/// is there, and `loader::skipped()` counts and lists what is not. A replacement that is bad, too,
/// is replaced in turn, up to `attempts` times in one place; then the batch fails with an error
/// that names the last one. So it does when the function throws, and when the dataset has no such
/// index.
///
/// It is called in the calling process, within `next()`, in an order that depends on which worker
/// is quick: as long as it is a function of its argument alone, the batches are the same for any
/// number of workers. The sample in the new place has the random numbers of its position.
///
/// Thread safety: called on the thread that uses the loader.
template <class Function>
class replace_bad {
  public:
    /// `attempts`: 1 up.
    explicit replace_bad(Function function, int attempts = 10)
        : function_(std::move(function)), attempts_(attempts) {}
    Function take() && { return std::move(function_); }
    int attempts() const { return attempts_; }

  private:
    Function function_;
    int attempts_;
};

}  // namespace stoker
