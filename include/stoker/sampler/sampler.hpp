#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <stoker/sampler/batch_count.hpp>
#include <stoker/sampler/epoch_walk.hpp>
#include <stoker/sampler/index_source.hpp>
#include <utility>
#include <vector>

namespace stoker {

/// Makes any range of integers the order of a loader's samples, in batches of `batch_size`.
///
///     stoker::sampler{std::vector{3, 1, 4, 1, 5}}                   // an index may come twice
///     stoker::sampler{std::views::iota(0, 100) | std::views::filter(is_labelled)}
///     stoker::sampler{[](std::uint64_t epoch) { return order_of(epoch); }}   // anew each epoch
///
/// `Source` is a forward range of integers of any type (views of the standard library and of
/// range-v3, containers), walked from its begin once an epoch, or a callable that takes the epoch
/// number and returns such a range. An endless range is an endless epoch. An index that the dataset
/// does not have, negative ones included, is an error{index_out_of_range} of its batch, and the
/// next batch follows; what the range throws ends the epoch.
///
/// Lifetime: the sampler owns what it was given; an lvalue is copied. A view's base must outlive
/// the loader. The range is walked in the main process only, where `next()` runs, and ahead of the
/// batches that are delivered.
///
/// Thread safety: distinct objects from any threads; one object from one thread at a time.
template <class Source>
class sampler {
    static_assert(detail::index_range<detail::range_of_t<Source>>,
                  "stoker::sampler needs a forward range of integers, or a callable that takes the "
                  "epoch (std::uint64_t) and returns one");

  public:
    explicit sampler(Source source) : source_{std::move(source)} {}

    /// For the loader. Throws error{invalid_option} when `batch_size` is 0.
    std::unique_ptr<detail::index_source> make_source(std::uint64_t batch_size, bool drop_last) &&;

  private:
    Source source_;
};

namespace detail {

template <class Source>
class sampler_source final : public index_source {
  public:
    sampler_source(Source source, std::uint64_t batch_size, bool drop_last)
        : walk_{std::move(source)}, batch_size_{batch_size}, drop_last_{drop_last} {
        require_batch_size(batch_size);
    }

    void begin(std::uint64_t epoch) override { walk_.begin(epoch); }

    bool next(std::vector<index>& indices) override {
        indices.clear();
        try {
            for (; indices.size() < batch_size_ && !walk_.at_end(); walk_.advance()) {
                indices.push_back(to_index(walk_.current()));
            }
        } catch (...) {
            walk_.end();
            throw;
        }
        return indices.size() == batch_size_ || (!indices.empty() && !drop_last_);
    }

    std::optional<std::uint64_t> length() const override {
        const auto size = walk_.size();
        return size ? std::optional{batch_count(*size, batch_size_, drop_last_)} : std::nullopt;
    }

    std::optional<std::uint64_t> largest_batch() const override {
        return std::min(batch_size_,
                        std::max<std::uint64_t>(walk_.size().value_or(batch_size_), 1));
    }

  private:
    epoch_walk<Source> walk_;
    std::uint64_t batch_size_;
    bool drop_last_;
};

}  // namespace detail

template <class Source>
std::unique_ptr<detail::index_source> sampler<Source>::make_source(std::uint64_t batch_size,
                                                                   bool drop_last) && {
    return std::make_unique<detail::sampler_source<Source>>(std::move(source_), batch_size,
                                                            drop_last);
}

}  // namespace stoker
