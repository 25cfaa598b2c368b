#pragma once

#include <type_traits>

#include <stoker/core/index.hpp>
#include <stoker/dataset/context.hpp>
#include <stoker/dataset/dataset_access.hpp>
#include <stoker/dataset/row.hpp>

namespace stoker {

/// What a loader can load: a class with `size()` and one of
///
/// - `get(index)` or `get(index, context&)`, which return a sample, a plain struct;
/// - `get(std::span<const index>)`, or with a `const batch_context&` behind it, which returns a
///   range of as many samples, such as a std::vector: one query a batch;
/// - `read(index, row<Sample>)` or with `context&` behind it, which writes the sample into the
///   batch's memory (`using sample = …;` where `read` is overloaded or a template);
/// - random access: std::vector, std::views::iota | std::views::transform, range-v3 views;
///
/// or a std::shared_ptr or std::unique_ptr to one. The first of read, batched get, get and random
/// access that is there is used, with a context where it takes one. They may be non-const.
/// `open()`, when there, is called once in each worker before its first sample: the place for
/// connections.
///
/// **Coroutines.** `get`, `read` and `open` may return `boost::asio::awaitable`. They run on the
/// worker's io_context, which is the executor of `co_await boost::asio::this_coro::executor`; up to
/// `loader_options::in_flight` samples of a worker are under way at once, those of the oldest batch
/// first. When an epoch is given up, or a sample passes `loader_options::sample_timeout`, they are
/// cancelled.
///
/// Thread safety: one process calls one dataset object from one thread. Coroutines of one object
/// take turns at their `co_await`s.
template <class D>
concept dataset =
    detail::has_size<typename detail::pointed_dataset<std::remove_cvref_t<D>>::type> &&
    !std::is_void_v<typename detail::sample_type<std::remove_cvref_t<D>>::type>;

namespace detail {

/// Fails with the reason when D is no dataset; each reason is the first line of the error.
template <class D>
struct check_dataset {
    using target = typename pointed_dataset<D>::type;
    static constexpr bool sized = has_size<target>;
    static constexpr bool reachable = dataset_access<D>::kind != access_kind::none;
    static constexpr bool untyped_read = !reachable && requires(target & each) {
        each.read(index{}, anything{});
    };
    static constexpr bool void_get = reachable && std::is_void_v<typename sample_type<D>::type>;
    static_assert(sized,
                  "stoker: a dataset needs size() and get(index), get(index, context&) or "
                  "read(index, row<Sample>), or to be a sized random-access range: "
                  "size() is missing");
    static_assert(reachable || untyped_read,
                  "stoker: a dataset needs size() and get(index), get(index, context&) or "
                  "read(index, row<Sample>), or to be a sized random-access range: "
                  "get(index) is missing, or it is private, or not const behind a const");
    static_assert(!untyped_read,
                  "stoker: a dataset with read(index, row) needs `using sample = …;` where read is "
                  "overloaded or a template, and read must take stoker::row<sample> by value");
    static_assert(!void_get,
                  "stoker: a dataset's get(index) returns the sample, not void, and get(span of "
                  "indices) a range of samples");
    static constexpr bool value = sized && reachable && !void_get;
};

}  // namespace detail

/// What stoker knows of a dataset; a compile-time error that says what is missing when it is none.
template <class D>
struct dataset_traits {
    static_assert(detail::check_dataset<D>::value);
    /// The struct, or bare value, that one index stands for.
    using sample = typename detail::sample_type<D>::type;
    /// It writes samples into the batch by itself.
    static constexpr bool reads = detail::dataset_access<D>::reads;
    /// Its samples are made by coroutines.
    static constexpr bool waits = detail::dataset_access<D>::waits;
    /// It asks for the sample's context.
    static constexpr bool uses_context = detail::dataset_access<D>::uses_context;
};

}  // namespace stoker
