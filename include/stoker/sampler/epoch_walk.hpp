#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <ranges>
#include <stoker/core/index.hpp>
#include <type_traits>
#include <utility>

namespace stoker::detail {

/// A range of indices that can be walked once an epoch; need be neither sized nor const-iterable.
template <class Range>
concept index_range =
    std::ranges::forward_range<Range> && index_value<std::ranges::range_reference_t<Range>>;

/// A range of lists of indices; a list is walked once.
template <class Range>
concept index_list_range = std::ranges::forward_range<Range> &&
    std::ranges::input_range<std::ranges::range_reference_t<Range>> &&
    index_value<std::ranges::range_reference_t<std::ranges::range_reference_t<Range>>>;

/// What a sampler was made of: the range itself, or a callable that makes one for an epoch.
template <class Source>
struct range_of {
    using type = Source;
};
template <class Source>
    requires(!std::ranges::range<Source> && std::invocable<Source&, std::uint64_t>)
struct range_of<Source> {
    using type = std::remove_cvref_t<std::invoke_result_t<Source&, std::uint64_t>>;
};
template <class Source>
using range_of_t = typename range_of<Source>::type;

/// Walks a range, or one made for each epoch, from its begin to its end. It stays where it is, as
/// iterators may point into the range.
template <class Source>
class epoch_walk {
  public:
    using range = range_of_t<Source>;
    static constexpr bool made_by_epoch = !std::same_as<range, Source>;

    explicit epoch_walk(Source source) : source_{std::move(source)} {
        if constexpr (!made_by_epoch && std::ranges::sized_range<range>) {
            size_ = static_cast<std::uint64_t>(std::ranges::size(source_));
        }
    }
    epoch_walk(const epoch_walk&) = delete;
    epoch_walk& operator=(const epoch_walk&) = delete;

    void begin(std::uint64_t epoch) {
        end();
        if constexpr (made_by_epoch) {
            made_.reset();
            made_.emplace(std::invoke(source_, epoch));
            start(*made_);
        } else {
            start(source_);
        }
    }
    /// Before the first `begin` as well as behind the last element. A range that has ended is not
    /// asked again, whatever it would say.
    bool at_end() {
        if (place_ && place_->here == place_->last)
            end();
        return !place_;
    }
    decltype(auto) current() { return *place_->here; }
    void advance() { ++place_->here; }
    /// Gives up the rest of the epoch.
    void end() { place_.reset(); }
    /// Elements an epoch; unset for what only walking, or the epoch, can tell.
    std::optional<std::uint64_t> size() const { return size_; }

  private:
    struct place {
        std::ranges::iterator_t<range> here;
        std::ranges::sentinel_t<range> last;
    };
    struct nothing {};

    void start(range& elements) {
        place_.emplace(place{std::ranges::begin(elements), std::ranges::end(elements)});
    }

    Source source_;
    [[no_unique_address]] std::conditional_t<made_by_epoch, std::optional<range>, nothing> made_{};
    std::optional<place> place_{};  ///< after the ranges that it points into
    std::optional<std::uint64_t> size_{};
};

}  // namespace stoker::detail
