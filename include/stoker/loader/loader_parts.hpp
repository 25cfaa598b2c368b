#pragma once

#include <functional>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include <stoker/collate/stream_fetcher.hpp>
#include <stoker/dataset/stream.hpp>
#include <stoker/loader/engine.hpp>
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

/// Checks what may follow the options of a loader of `Dataset`.
template <class Dataset, class... Parts>
constexpr void check_parts() {
    static_assert(
        !streamed<Dataset> || parts_of<sampler, Parts...> + parts_of<batch_sampler, Parts...> == 0,
        "stoker: a stream has no indices, so a loader of it takes no sampler and no "
        "batch_sampler: its order is that of its shards");
    static_assert(((is_part<Parts, sampler>::value || is_part<Parts, batch_sampler>::value ||
                    is_part<Parts, worker_init>::value) &&
                   ...),
                  "stoker: after the options a loader takes stoker::sampler, stoker::batch_sampler "
                  "and stoker::worker_init");
    static_assert(parts_of<sampler, Parts...> <= 1 && parts_of<batch_sampler, Parts...> <= 1 &&
                      parts_of<worker_init, Parts...> <= 1,
                  "stoker: a loader takes each part once");
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

/// The dataset with its worker_init part, types taken away.
template <class Dataset, class... Parts>
std::unique_ptr<fetcher> make_source(Dataset dataset, Parts&... given) {
    if constexpr (parts_of < worker_init, Parts... >> 0) {
        return make_any_fetcher(std::move(dataset),
                                std::move(find_part<worker_init>(given...)).take());
    } else {
        return make_any_fetcher(std::move(dataset));
    }
}

}  // namespace stoker::detail
