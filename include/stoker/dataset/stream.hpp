#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ranges>
#include <type_traits>
#include <utility>

#include <stoker/dataset/context.hpp>
#include <stoker/dataset/dataset.hpp>
#include <stoker/dataset/range_stream.hpp>

namespace stoker {

namespace detail {

template <class D>
concept has_shard_count = requires(D& source) {
    static_cast<std::uint64_t>(source.shard_count());
};
template <class D>
concept opens_shards = requires(D& source) {
    source.open(std::size_t{}, std::uint64_t{});
};
template <class R>
concept next_with_context = requires(R& reader, context& c) {
    reader.next(c);
};
template <class R>
concept next_plain = requires(R& reader) {
    reader.next();
};
template <class R>
concept has_position = requires(R& reader) {
    static_cast<std::uint64_t>(reader.position());
};
/// What next() gives: a sample, or nothing at the end.
template <class N>
concept maybe_sample = requires(N& given) {
    static_cast<bool>(given);
    *given;
};

/// What `reader.next()` gives; void when there is none.
template <class R>
struct next_result : std::type_identity<void> {};
template <next_with_context R>
struct next_result<R>
    : std::type_identity<decltype(std::declval<R&>().next(std::declval<context&>()))> {};
template <next_plain R>
    requires(!next_with_context<R>)
struct next_result<R> : std::type_identity<decltype(std::declval<R&>().next())> {};

/// The sample of a reader; void when it has none.
template <class N>
struct given_sample : std::type_identity<void> {};
template <maybe_sample N>
struct given_sample<N> : std::remove_cvref<decltype(*std::declval<std::remove_reference_t<N>&>())> {
};

/// The one way in which stoker calls a reader. `R` may be a smart pointer to one.
template <class R>
struct reader_access {
    using target = typename pointed_dataset<R>::type;
    using given = typename next_result<target>::type;
    using sample = typename given_sample<given>::type;
    static constexpr bool uses_context = next_with_context<target>;

    static decltype(auto) next(R& reader, [[maybe_unused]] context& c) {
        if constexpr (uses_context) {
            return pointed_dataset<R>::of(reader).next(c);
        } else {
            return pointed_dataset<R>::of(reader).next();
        }
    }
    static std::uint64_t position(R& reader) {
        return static_cast<std::uint64_t>(pointed_dataset<R>::of(reader).position());
    }
};

/// Written as a stream, well or not.
template <class D>
concept meant_as_stream = has_shard_count<D> || opens_shards<D>;

/// A range that is no dataset, since its samples cannot be had in any order, or not be counted.
template <class D>
concept plain_range = std::ranges::input_range<D> && !meant_as_stream<D> && !dataset<D>;

/// The one way in which stoker calls a stream. `D` may be a smart pointer to one.
template <class D>
struct stream_access {
    using target = typename pointed_dataset<D>::type;
    static constexpr bool sized = has_size<target>;
    static constexpr bool opens = requires(target & source) { source.open(); };

    static std::uint64_t shard_count(D& source) {
        return static_cast<std::uint64_t>(pointed_dataset<D>::of(source).shard_count());
    }
    static std::uint64_t size(D& source) { return dataset_access<D>::size(source); }
    static decltype(auto) open(D& source, std::uint64_t shard, std::uint64_t position) {
        return pointed_dataset<D>::of(source).open(static_cast<std::size_t>(shard), position);
    }
    static void open(D& source) {
        if constexpr (opens) {
            static_assert(std::is_void_v<decltype(std::declval<target&>().open())>,
                          "stoker: a stream's open() returns void");
            pointed_dataset<D>::of(source).open();
        }
    }
};

/// What open(shard, position) of a stream gives.
template <class D>
using reader_of =
    decltype(stream_access<D>::open(std::declval<D&>(), std::uint64_t{}, std::uint64_t{}));

template <class D>
struct stream_sample : std::type_identity<void> {};
template <class D>
    requires(opens_shards<typename pointed_dataset<D>::type>)
struct stream_sample<D> : std::type_identity<typename reader_access<reader_of<D>>::sample> {};
template <class D>
    requires(plain_range<typename pointed_dataset<D>::type>)
struct stream_sample<D>
    : std::type_identity<std::ranges::range_value_t<typename pointed_dataset<D>::type>> {};

/// To be loaded as a stream, or refused as one.
template <class D>
concept streamed =
    !dataset<D> && (meant_as_stream<typename pointed_dataset<std::remove_cvref_t<D>>::type> ||
                    plain_range<typename pointed_dataset<std::remove_cvref_t<D>>::type>);

template <class D>
constexpr bool complete_stream() {
    using target = typename pointed_dataset<D>::type;
    if constexpr (has_shard_count<target> && opens_shards<target>) {
        using reader = typename reader_access<reader_of<D>>::target;
        return has_position<reader> && !std::is_void_v<typename stream_sample<D>::type>;
    } else {
        return plain_range<target>;
    }
}

}  // namespace detail

/// A dataset without random access: its samples come one after the other, from one or more shards
/// (files, partitions, connections). A class with
///
///     std::size_t shard_count() const;
///     reader open(std::size_t shard, std::uint64_t position);
///
/// or a std::shared_ptr or std::unique_ptr to one. A `reader` (a class of any name, or a smart
/// pointer to one) has
///
/// - `next()`, or `next(context&)`: the next sample as a std::optional or the like, false at the
///   end of the shard; it is not called again after that;
/// - `std::uint64_t position()`: where a new `open` would go on with the sample that `next()` would
///   give. A number of the reader's own kind (a byte offset, a record number); 0 is the beginning
///   of each shard. It is asked for once a batch.
///
/// `std::uint64_t size()`, when there, is how many samples all shards have together: `length()` of
/// the loader is then known. `void open()`, when there, runs once in each worker before all else.
///
///     struct lines {
///         std::vector<std::string> paths;
///         struct reader {
///             std::ifstream file;
///             std::optional<line> next() { …getline… }
///             std::uint64_t position() { return std::uint64_t(file.tellg()); }
///         };
///         std::size_t shard_count() const { return paths.size(); }
///         reader open(std::size_t shard, std::uint64_t position) const { …seekg… }
///     };
///
/// `stream | stoker::map(f)` is a stream, too.
///
/// Any std::ranges::input_range that is no dataset is a stream of one shard: `range_stream` says
/// how, and what that means for ranges that can be walked only once.
///
/// **Order.** Shards are dealt to 64 lanes, or as many as there are shards: lane k has shards k,
/// k + 64, … A batch is made of one lane's samples; its shards follow one another without a seam.
/// Batches come in turn, one of each lane; lanes that have ended are left out. What then remains of
/// each lane, less than a batch, is put together in the order of lanes and read again at its
/// positions: so only the last batch of an epoch is smaller, and drop_last drops that one alone.
/// All of this is the same for any number of workers; lane k belongs to worker k mod num_workers,
/// so workers beyond the number of lanes stay idle. With `shuffle` the order of the shards is a
/// permutation by (seed, epoch); samples keep their order within a shard.
///
/// **Epochs.** Each opens all shards anew, when it is asked for and never ahead of that.
///
/// **Errors.** What `next()` or `open` throws costs its batch: `next()` of the loader throws in its
/// place. The shard is then opened again at the reader's position(), which a reader that can tell
/// sets behind the bad sample. A reader that stays where it is, 100 failures in a row, and an
/// `open` that throws, end that shard, which the error says, and the lane goes on with its next
/// one.
///
/// `index` of a sample, `batch.indices()` and `context.position()` are its place in this order, but
/// with gaps where lanes have ended.
///
/// Thread safety: one process calls one stream, and its readers, from one thread.
template <class D>
concept stream = detail::streamed<std::remove_cvref_t<D>> &&
    detail::complete_stream<std::remove_cvref_t<D>>();

namespace detail {

/// Fails with the reason when D is no stream; each reason is the first line of the error.
template <class D>
struct check_stream {
    using target = typename pointed_dataset<D>::type;
    static constexpr bool is_range = plain_range<target>;
    static constexpr bool counts = is_range || has_shard_count<target>;
    static constexpr bool reachable = is_range || opens_shards<target>;
    static_assert(counts,
                  "stoker: a stream needs shard_count() and open(shard, position): shard_count() "
                  "is missing");
    static_assert(reachable,
                  "stoker: a stream needs shard_count() and open(shard, position): open(std::size_t"
                  " shard, std::uint64_t position) is missing, or it is private");
    static constexpr bool gives = !std::is_void_v<typename stream_sample<D>::type>;
    static_assert(!reachable || gives,
                  "stoker: a stream's open(shard, position) returns a reader with next() or "
                  "next(context&), which returns std::optional<sample> or the like, and "
                  "position(): next() is missing, or returns something else");
    static constexpr bool tells = [] {
        if constexpr (reachable && !is_range)
            return has_position<typename reader_access<reader_of<D>>::target>;
        else
            return true;
    }();
    static_assert(tells,
                  "stoker: a stream's open(shard, position) returns a reader with next() or "
                  "next(context&), and position(): position() is missing");
    static constexpr bool value = counts && reachable && gives && tells;
};

}  // namespace detail

/// What stoker knows of a stream; a compile-time error that says what is missing when it is none.
template <class D>
struct stream_traits {
    static_assert(detail::check_stream<D>::value);
    /// The struct, or bare value, that the stream consists of.
    using sample = typename detail::stream_sample<D>::type;
};

namespace detail {

/// What a loader knows of what it is given, a dataset or a stream.
template <class D>
struct loaded_traits {
    using sample = typename dataset_traits<D>::sample;
    static constexpr bool waits = dataset_traits<D>::waits;
};
template <streamed D>
struct loaded_traits<D> {
    using sample = typename stream_traits<D>::sample;
    static constexpr bool waits = false;
};

}  // namespace detail

}  // namespace stoker
