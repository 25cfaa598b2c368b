#pragma once

#include <functional>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include <stoker/collate/batch_struct.hpp>
#include <stoker/collate/collate.hpp>
#include <stoker/collate/custom_collator.hpp>
#include <stoker/collate/stream_fetcher.hpp>
#include <stoker/dataset/stream.hpp>
#include <stoker/loader/bad_sample.hpp>
#include <stoker/loader/engine.hpp>
#include <stoker/loader/replace_bad.hpp>
#include <stoker/loader/worker_init.hpp>
#include <stoker/sampler/batch_sampler.hpp>
#include <stoker/sampler/default_source.hpp>
#include <stoker/sampler/sampler.hpp>

namespace stoker::detail {

template <class Part, template <class...> class Kind>
struct is_part : std::false_type {};
template <class... Arguments, template <class...> class Kind>
struct is_part<Kind<Arguments...>, Kind> : std::true_type {};

/// How many of the parts are of one kind.
template <template <class...> class Kind, class... Parts>
inline constexpr int parts_of = (0 + ... + (is_part<Parts, Kind>::value ? 1 : 0));

/// The first part of a kind, or `nullptr_t` when there is none.
template <template <class...> class Kind, class First, class... Rest>
auto& find_part(First& first, Rest&... rest) {
    if constexpr (is_part<First, Kind>::value) {
        return first;
    } else {
        return find_part<Kind>(rest...);
    }
}

/// The batch struct that the parts' collate names; void without one.
template <class... Parts>
struct batch_of_parts : std::type_identity<void> {};
template <class Function, class Batch, class... Rest>
struct batch_of_parts<collate<Function, Batch>, Rest...> : std::type_identity<Batch> {};
template <class First, class... Rest>
    requires(!is_part<First, collate>::value)
struct batch_of_parts<First, Rest...> : batch_of_parts<Rest...> {};

/// Checks what may follow the options of a loader of `Dataset` whose batch struct is `Batch`, void
/// without one.
template <class Dataset, class Batch, class... Parts>
constexpr void check_parts() {
    static_assert(
        !streamed<Dataset> || parts_of<sampler, Parts...> + parts_of<batch_sampler, Parts...> == 0,
        "stoker: a stream has no indices, so a loader of it takes no sampler and no "
        "batch_sampler: its order is that of its shards");
    static_assert(!streamed<Dataset> || parts_of<replace_bad, Parts...> == 0,
                  "stoker: a stream has no indices, so a loader of it takes no replace_bad: there "
                  "is no other sample to name");
    static_assert(((is_part<Parts, sampler>::value || is_part<Parts, batch_sampler>::value ||
                    is_part<Parts, collate>::value || is_part<Parts, worker_init>::value ||
                    is_part<Parts, replace_bad>::value) &&
                   ...),
                  "stoker: after the options a loader takes stoker::sampler, "
                  "stoker::batch_sampler, stoker::collate, stoker::worker_init and "
                  "stoker::replace_bad");
    static_assert(parts_of<sampler, Parts...> <= 1 && parts_of<batch_sampler, Parts...> <= 1 &&
                      parts_of<collate, Parts...> <= 1 && parts_of<worker_init, Parts...> <= 1 &&
                      parts_of<replace_bad, Parts...> <= 1,
                  "stoker: a loader takes each part once");
    static_assert(
        std::is_same_v<Batch, typename batch_of_parts<Parts...>::type>,
        "stoker: a loader with a stoker::collate is a loader<Dataset, Batch>, where Batch "
        "is the struct that the collate names, and one without is a loader<Dataset>");
}

/// The columns of a loader's batches.
template <class Sample, class Batch>
schema columns_of() {
    if constexpr (std::is_void_v<Batch>) {
        return schema_of<Sample>();
    } else {
        return batch_struct<Batch>::describe();
    }
}

/// The order of the loader: the sampler that was given, or the options' own.
template <class... Parts>
void add_order(engine_parts& parts, Parts&... given) {
    parts.has_sampler = parts_of<sampler, Parts...> > 0;
    parts.has_batch_sampler = parts_of<batch_sampler, Parts...> > 0;
    const loader_options options = parts.options;
    const auto batch_size =
        static_cast<std::uint64_t>(options.batch_size > 0 ? options.batch_size : 1);
    if constexpr (parts_of < batch_sampler, Parts... >> 0) {
        auto& part = find_part<batch_sampler>(given...);
        parts.make_order = [&part](std::uint64_t) { return std::move(part).make_source(); };
    } else if constexpr (parts_of<sampler, Parts...> > 0) {
        auto& part = find_part<sampler>(given...);
        parts.make_order = [&part, batch_size, options](std::uint64_t) {
            return std::move(part).make_source(batch_size, options.drop_last);
        };
    } else {
        parts.make_order = [batch_size, options](std::uint64_t size) {
            return make_default_source(size, batch_size, options.shuffle, options.drop_last,
                                       options.seed);
        };
    }
}

/// What comes in the place of bad samples, when that was given.
template <class... Parts>
void add_replacement(engine_parts& parts, Parts&... given) {
    if constexpr (parts_of < replace_bad, Parts... >> 0) {
        auto& part = find_part<replace_bad>(given...);
        parts.replacement_attempts = part.attempts();
        auto function = std::move(part).take();
        static_assert(std::is_invocable_r_v<index, decltype(function)&, bad_sample&>,
                      "stoker: replace_bad is called with a stoker::bad_sample& and returns the "
                      "index of another sample");
        parts.replacement = [named = std::move(function)](bad_sample& bad) mutable {
            return static_cast<index>(std::invoke(named, bad));
        };
    }
}

template <class... Parts>
auto take_worker_init(Parts&... given) {
    if constexpr (parts_of < worker_init, Parts... >> 0) {
        return std::move(find_part<worker_init>(given...)).take();
    } else {
        return no_worker_init{};
    }
}

/// The dataset with its worker_init and collate parts, types taken away.
template <class Dataset, class... Parts>
std::unique_ptr<fetcher> make_source(Dataset dataset, Parts&... given) {
    auto hook = take_worker_init(given...);
    if constexpr (parts_of < collate, Parts... >> 0) {
        using sample = typename loaded_traits<Dataset>::sample;
        auto function = std::move(find_part<collate>(given...)).take();
        using collator =
            custom_collator<sample, decltype(function), typename batch_of_parts<Parts...>::type>;
        return make_any_fetcher(std::move(dataset), std::move(hook), collator(std::move(function)));
    } else {
        return make_any_fetcher(std::move(dataset), std::move(hook));
    }
}

}  // namespace stoker::detail
