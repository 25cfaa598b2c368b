#pragma once

#include <type_traits>
#include <utility>

#include <stoker/collate/writer.hpp>

namespace stoker {

namespace detail {

/// The batch struct that a collate function names by its `writer`; void when it names none.
template <class Function>
struct named_batch : std::type_identity<void> {};
template <class Function>
    requires requires {
        &Function::operator();
    }
struct named_batch<Function> : named_batch<decltype(&Function::operator())> {};
template <class Result, class Samples, class Batch>
struct named_batch<Result (*)(Samples, writer<Batch>&)> : std::type_identity<Batch> {};
template <class Result, class Samples, class Batch>
struct named_batch<Result (*)(Samples, writer<Batch>&) noexcept> : std::type_identity<Batch> {};
template <class C, class Result, class Samples, class Batch>
struct named_batch<Result (C::*)(Samples, writer<Batch>&)> : std::type_identity<Batch> {};
template <class C, class Result, class Samples, class Batch>
struct named_batch<Result (C::*)(Samples, writer<Batch>&) const> : std::type_identity<Batch> {};
template <class C, class Result, class Samples, class Batch>
struct named_batch<Result (C::*)(Samples, writer<Batch>&) noexcept> : std::type_identity<Batch> {};
template <class C, class Result, class Samples, class Batch>
struct named_batch<Result (C::*)(Samples, writer<Batch>&) const noexcept>
    : std::type_identity<Batch> {};

}  // namespace detail

/// A part of a loader: a function that makes batches of samples where the types of members cannot
/// say how. It names the struct of what it makes, and the loader's batches are accessed by that.
///
///     struct padded_pair { … };                            // see `writer`
///     stoker::loader loader{sentences, {.batch_size = 32, .num_workers = 2},
///                           stoker::collate{[](std::span<const sentence> samples,
///                                              stoker::writer<padded_pair>& out) { … }}};
///     while (auto batch = co_await loader.next()) step(batch[&padded_pair::mask]);
///
/// Its loader is a `loader<Dataset, padded_pair>`, a batch a `batch<sentence, padded_pair>`. The
/// samples come in the order of the batch's indices, as `std::span<Sample>`: they may be changed
/// and moved from. What it makes need not have an axis of that length.
///
/// What the function throws comes out of `next()` in place of the batch, as errc::collate_failed
/// with its own text and type; no sample is blamed. A function that is a template or overloaded
/// says its struct by `stoker::collate<decltype(f), padded_pair>{f}`.
///
/// Thread safety: each worker calls a copy of its own, from one thread.
template <class Function, class Batch = typename detail::named_batch<Function>::type>
class collate {
    static_assert(!std::is_void_v<Batch>,
                  "stoker: a collate's function names its batch struct: it takes "
                  "(std::span<const Sample>, stoker::writer<Batch>&), and is no template");

  public:
    /// What it makes.
    using batch_type = Batch;

    explicit collate(Function function) : function_(std::move(function)) {}
    /// For the loader.
    Function take() && { return std::move(function_); }

  private:
    Function function_;
};

}  // namespace stoker
