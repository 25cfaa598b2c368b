#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <ranges>
#include <type_traits>
#include <utility>

#include <stoker/dataset/dataset.hpp>

namespace stoker {

/// Makes a range a stream of one shard, as a loader does by itself with a range that has no random
/// access: `views::filter`, std::list, std::views::istream, a generator. A position is a count of
/// samples; opening the shard means to begin again and to step over as many.
///
/// A range that can be walked only once (std::views::istream, generators: an input range that is
/// no forward range) is begun once in each process, and what was read is gone: an epoch that
/// follows a break goes on behind what the worker had read ahead, and after the end all epochs are
/// empty. Write a class with `open(shard, position)` where that matters.
///
/// `D` is the range, or a smart pointer to one.
///
/// Thread safety: as the range's.
template <class D>
class range_stream {
    using target = typename detail::pointed_dataset<D>::type;
    static constexpr bool again = std::ranges::forward_range<target>;
    using reference = std::ranges::range_reference_t<target>;
    using value = std::ranges::range_value_t<target>;
    /// Elements that lie in memory are pointed to.
    static constexpr bool by_pointer = std::is_lvalue_reference_v<reference> &&
                                       std::is_same_v<std::remove_cvref_t<reference>, value>;
    using given =
        std::conditional_t<by_pointer, std::remove_reference_t<reference>*, std::optional<value>>;

    struct walk {
        std::ranges::iterator_t<target> here;
        std::ranges::sentinel_t<target> last;
        std::uint64_t position = 0;
        bool stands_on_given = false;  ///< `here` was given, and is to be left before the next one
        bool ended = false;

        explicit walk(target& range)
            : here(std::ranges::begin(range)), last(std::ranges::end(range)) {}
        /// To the next element; false when there is none, and from then on.
        bool advance() {
            if (ended)
                return false;
            if (stands_on_given) {
                stands_on_given = false;
                ++here;
            }
            ended = here == last;
            if (ended)
                return false;
            stands_on_given = true;  // also when looking at it fails: the next one comes after it
            ++position;
            return true;
        }
    };

  public:
    explicit range_stream(D range) : range_(std::move(range)) {}

    /// One walk over the range, or, for a range that has only one, what is left of that.
    class reader {
      public:
        explicit reader(std::shared_ptr<walk> all) : walk_(std::move(all)) {}

        given next() {
            if (!walk_->advance())
                return given();
            if constexpr (by_pointer) {
                return std::addressof(*walk_->here);
            } else {
                return given(*walk_->here);
            }
        }
        std::uint64_t position() const { return walk_->position; }

      private:
        std::shared_ptr<walk> walk_;
    };

    std::size_t shard_count() const { return 1; }
    std::uint64_t size() requires(detail::has_size<target>) {
        return detail::dataset_access<D>::size(range_);
    }
    reader open(std::size_t, std::uint64_t position) {
        std::shared_ptr<walk> place = only_;
        if (!place)
            place = std::make_shared<walk>(detail::pointed_dataset<D>::of(range_));
        if constexpr (!again)
            only_ = place;
        while (place->position < position && place->advance()) {
        }
        return reader(std::move(place));
    }

  private:
    D range_;
    std::shared_ptr<walk> only_{};
};

}  // namespace stoker
