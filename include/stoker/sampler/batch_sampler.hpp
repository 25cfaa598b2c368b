#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <stoker/sampler/epoch_walk.hpp>
#include <stoker/sampler/index_source.hpp>
#include <utility>
#include <vector>

namespace stoker {

/// Makes any range of lists of integers the batches of a loader, as they are: batches may differ in
/// size, and an index may come in several.
///
///     stoker::batch_sampler{ranges::views::iota(0, 100) | ranges::views::chunk(7)}
///     stoker::batch_sampler{std::vector<std::vector<int>>{{0, 1}, {2}}}
///     stoker::batch_sampler{[](std::uint64_t epoch) { return buckets_by_length(epoch); }}
///
/// `Source` is a forward range of such lists, or a callable that takes the epoch number and returns
/// one. It decides batches alone: the loader's batch_size, shuffle and drop_last must be at their
/// defaults, as with PyTorch. An empty list cannot be collated: error{invalid_option}, which names
/// the batch, and the next list follows. Lists of a callable, and of ranges whose lists have no
/// size, may have up to 65,536 indices; memory for their batches comes as they need it. All else,
/// lifetime too, is as for `sampler`.
///
/// Thread safety: distinct objects from any threads; one object from one thread at a time.
template <class Source>
class batch_sampler {
    static_assert(
        detail::index_list_range<detail::range_of_t<Source>>,
        "stoker::batch_sampler needs a forward range of ranges of integers, or a callable "
        "that takes the epoch (std::uint64_t) and returns one");

  public:
    explicit batch_sampler(Source source) : source_{std::move(source)} {}

    /// For the loader.
    std::unique_ptr<detail::index_source> make_source() &&;

  private:
    Source source_;
};

namespace detail {

[[noreturn]] void refuse_empty_batch(std::uint64_t epoch, std::uint64_t number);

template <class Source>
class batch_sampler_source final : public index_source {
  public:
    explicit batch_sampler_source(Source source)
        : largest_{largest_of(source)}, walk_{std::move(source)} {}

    void begin(std::uint64_t epoch) override {
        epoch_ = epoch;
        number_ = 0;
        walk_.begin(epoch);
    }

    bool next(std::vector<index>& indices) override {
        indices.clear();
        try {
            if (walk_.at_end()) {
                return false;
            }
            auto&& list = walk_.current();
            for (auto&& each : list) {
                indices.push_back(to_index(each));
            }
            walk_.advance();
        } catch (...) {
            walk_.end();
            throw;
        }
        const std::uint64_t number = number_++;
        if (indices.empty()) {
            refuse_empty_batch(epoch_, number);
        }
        return true;
    }

    std::optional<std::uint64_t> length() const override { return walk_.size(); }
    std::optional<std::uint64_t> largest_batch() const override { return largest_; }

  private:
    /// The longest list, where a range of sized lists can be looked through beforehand.
    static std::optional<std::uint64_t> largest_of(Source& source) {
        using range = range_of_t<Source>;
        if constexpr (std::same_as<range, Source> && std::ranges::sized_range<range>) {
            if constexpr (std::ranges::sized_range<std::ranges::range_reference_t<range>>) {
                try {
                    std::uint64_t largest = 1;
                    for (auto&& list : source)
                        largest =
                            std::max(largest, static_cast<std::uint64_t>(std::ranges::size(list)));
                    return largest;
                } catch (...) {  // comes again, and is told, when its epoch is walked
                }
            }
        }
        return std::nullopt;
    }

    std::optional<std::uint64_t> largest_;
    epoch_walk<Source> walk_;
    std::uint64_t epoch_ = 0;
    std::uint64_t number_ = 0;
};

}  // namespace detail

template <class Source>
std::unique_ptr<detail::index_source> batch_sampler<Source>::make_source() && {
    return std::make_unique<detail::batch_sampler_source<Source>>(std::move(source_));
}

}  // namespace stoker
