#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <stoker/dataset/context.hpp>

namespace stoker {

/// What a dataset with a batched `get(indices, const batch_context&)` may know about the batch
/// that it makes.
///
///     std::vector<row> get(std::span<const stoker::index> indices,
///                          const stoker::batch_context& batch) {
///         auto rows = query(indices);
///         for (std::size_t i = 0; i < rows.size(); ++i) {
///             auto sample = batch.sample(i);
///             rows[i].noise = sample.random.normal();
///         }
///         return rows;
///     }
///
/// Lives until the batch is made; an awaitable `get` may use it until it ends.
///
/// Thread safety: constant.
class batch_context {
  public:
    /// Datasets get theirs from the loader; tests of datasets make their own. `numbers`: where
    /// samples were left out, each one's number in the whole batch; kept by reference.
    batch_context(std::uint64_t seed, std::uint64_t epoch, std::uint64_t first_position,
                  int worker = 0, int num_workers = 0,
                  std::span<const std::uint64_t> numbers = {}) noexcept
        : seed_{seed},
          epoch_{epoch},
          first_position_{first_position},
          worker_{worker},
          num_workers_{num_workers},
          numbers_{numbers} {}

    /// The context of the batch's sample `number`, from 0: the same as a dataset that makes one
    /// sample a call would get. Its random numbers begin anew with each call.
    context sample(std::size_t number) const noexcept {
        const std::uint64_t place = numbers_.empty() ? number : numbers_[number];
        return context(seed_, epoch_, first_position_ + place, worker_, num_workers_);
    }

    /// The context of a batch that consists of this one's samples from `number` on.
    batch_context from(std::size_t number) const noexcept {
        if (!numbers_.empty()) {
            return batch_context(seed_, epoch_, first_position_, worker_, num_workers_,
                                 numbers_.subspan(number));
        }
        return batch_context(seed_, epoch_, first_position_ + number, worker_, num_workers_);
    }

    /// Epochs from 0.
    std::uint64_t epoch() const noexcept { return epoch_; }
    /// Place of the first sample in its epoch; the others follow.
    std::uint64_t first_position() const noexcept { return first_position_; }
    /// Number of the worker process, from 0; 0 when the calling process loads.
    int worker() const noexcept { return worker_; }
    /// How many worker processes there are; 0 when the calling process loads.
    int num_workers() const noexcept { return num_workers_; }

  private:
    std::uint64_t seed_;
    std::uint64_t epoch_;
    std::uint64_t first_position_;
    int worker_;
    int num_workers_;
    std::span<const std::uint64_t> numbers_;
};

}  // namespace stoker
