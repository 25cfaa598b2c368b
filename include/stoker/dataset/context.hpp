#pragma once

#include <cstdint>
#include <stoker/dataset/random.hpp>

namespace stoker {

/// What a dataset may know about the sample that it makes, beside its index.
///
///     image get(stoker::index i, stoker::context& c) const {
///         return c.random.coin(0.5) ? flipped(i) : plain(i);
///     }
///
/// All but `worker` and `num_workers` is the same whoever makes the sample. What a sample holds
/// should not depend on those two, or it will differ with the number of workers.
///
/// Lives until the sample is made; an awaitable `get` may use it until it ends.
///
/// Thread safety: one object belongs to one sample, and to one thread at a time.
class context {
  public:
    /// Datasets get theirs from the loader; tests of datasets make their own.
    context(std::uint64_t seed, std::uint64_t epoch, std::uint64_t position, int worker = 0,
            int num_workers = 0) noexcept
        : random{seed, epoch, position},
          epoch_{epoch},
          position_{position},
          worker_{worker},
          num_workers_{num_workers} {}
    // A copy would repeat the same numbers, which nobody means to.
    context(const context&) = delete;
    context& operator=(const context&) = delete;

    /// This sample's own generator, keyed by (seed, epoch, position): an index that is drawn twice
    /// in an epoch gets different numbers each time.
    stoker::random random;

    /// Epochs from 0.
    std::uint64_t epoch() const noexcept { return epoch_; }
    /// Place of the sample in its epoch, from 0, over all batches and all ranks.
    std::uint64_t position() const noexcept { return position_; }
    /// Number of the worker process, from 0; 0 when the calling process loads.
    int worker() const noexcept { return worker_; }
    /// How many worker processes there are; 0 when the calling process loads.
    int num_workers() const noexcept { return num_workers_; }

  private:
    std::uint64_t epoch_;
    std::uint64_t position_;
    int worker_;
    int num_workers_;
};

}  // namespace stoker
