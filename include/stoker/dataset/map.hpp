#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include <stoker/dataset/awaited.hpp>
#include <stoker/dataset/dataset.hpp>
#include <stoker/dataset/mapped_stream.hpp>
#include <stoker/dataset/size_of.hpp>
#include <stoker/dataset/stream.hpp>
#include <stoker/dataset/take_sample.hpp>

namespace stoker {

namespace detail {

/// What `map(f)` makes of a dataset, as types.
template <class Base, class Function>
struct map_traits {
    using access = dataset_access<Base>;
    using base_sample = typename dataset_traits<Base>::sample;

    static constexpr bool takes_reference = [] {
        if constexpr (access::waits || access::batched)
            return false;
        else
            return std::is_lvalue_reference_v<decltype(take_sample(std::declval<Base&>(), index{},
                                                                   nullptr))>;
    }();
    template <class Taken, class... Context>
    static constexpr bool callable = std::is_invocable_v<Function&, Taken, Context...>;

    /// A reference into the base is passed as const: a map never changes the dataset below it.
    static constexpr bool by_reference =
        takes_reference && (callable<const base_sample&> || callable<const base_sample&, context&>);
    using argument = std::conditional_t<by_reference, const base_sample&, base_sample&&>;
    static constexpr bool function_uses_context = callable<argument, context&>;
    static_assert(function_uses_context || callable<argument>,
                  "stoker: map(f) calls f(sample) or f(sample, context&), the sample by value or "
                  "const reference; this f takes neither");
    static constexpr auto type_given() {
        if constexpr (function_uses_context) {
            return std::type_identity<std::invoke_result_t<Function&, argument, context&>>();
        } else if constexpr (callable<argument>) {
            return std::type_identity<std::invoke_result_t<Function&, argument>>();
        } else {
            return std::type_identity<void>();
        }
    }
    /// What a call gives: a sample, or a coroutine for it.
    using given = typename decltype(type_given())::type;
    static constexpr bool waits = access::waits || is_awaitable<given>;
    static constexpr bool uses_context = access::uses_context || function_uses_context;
};

/// A dataset with a function applied to each sample, in the worker that makes it.
template <class Base, class Function>
class mapped_dataset {
    using access = dataset_access<Base>;
    using traits = map_traits<Base, Function>;
    using base_sample = typename traits::base_sample;
    using argument = typename traits::argument;
    static constexpr bool waits = traits::waits;
    static constexpr bool batched = access::batched;
    static constexpr bool uses_context = traits::uses_context;

    decltype(auto) apply(argument taken, [[maybe_unused]] context* c) {
        if constexpr (traits::function_uses_context) {
            return std::invoke(function_, std::forward<argument>(taken), *c);
        } else {
            return std::invoke(function_, std::forward<argument>(taken));
        }
    }
    auto make(index i, context* c) {
        if constexpr (traits::by_reference) {
            return apply(take_sample(base_, i, c), c);
        } else {
            base_sample taken = take_sample(base_, i, c);
            return apply(std::move(taken), c);
        }
    }

  public:
    /// What the function makes.
    using sample = std::remove_cvref_t<awaited_result<typename traits::given>>;

    mapped_dataset(Base base, Function function)
        : base_(std::move(base)), function_(std::move(function)) {}

    std::uint64_t size() { return access::size(base_); }
    auto get(index i) requires(!waits && !batched && !uses_context) { return make(i, nullptr); }
    auto get(index i, context& c) requires(!waits && !batched && uses_context) {
        return make(i, &c);
    }
    boost::asio::awaitable<sample> get(index i) requires(waits && !batched && !uses_context) {
        return make_awaited(i, nullptr);
    }
    boost::asio::awaitable<sample> get(index i,
                                       context& c) requires(waits && !batched && uses_context) {
        return make_awaited(i, &c);
    }
    auto get(std::span<const index> indices) requires(batched && !uses_context) {
        return make_all(indices, nullptr);
    }
    auto get(std::span<const index> indices,
             const batch_context& c) requires(batched&& uses_context) {
        return make_all(indices, &c);
    }
    decltype(auto) open() requires(access::opens) { return access::open(base_); }

  private:
    // Each await stands by itself, with what it needs in variables: g++ 12 destroys temporaries
    // that own something twice when they stand beside one.
    boost::asio::awaitable<sample> make_awaited(index i, context* c) {
        if constexpr (traits::by_reference) {
            auto pending = apply(take_sample(base_, i, c), c);
            sample made = co_await std::move(pending);
            co_return made;
        } else {
            base_sample taken = co_await take_awaited(base_, i, c);
            sample made = co_await apply_awaited(taken, c);
            co_return made;
        }
    }
    boost::asio::awaitable<sample> apply_awaited(base_sample& taken, context* c) {
        if constexpr (is_awaitable<typename traits::given>) {
            auto pending = apply(std::move(taken), c);
            sample made = co_await std::move(pending);
            co_return made;
        } else {
            co_return apply(std::move(taken), c);
        }
    }

    auto make_all(std::span<const index> indices, const batch_context* c) {
        if constexpr (waits) {
            return make_all_awaited(indices, c);
        } else {
            auto taken = take_batch(base_, indices, c);
            require_count(taken, indices.size());
            std::vector<sample> made;
            made.reserve(indices.size());
            for (auto& each : taken) {
                base_sample one = std::move(each);
                if constexpr (traits::function_uses_context) {
                    context own = c->sample(made.size());
                    made.push_back(apply(std::move(one), &own));
                } else {
                    made.push_back(apply(std::move(one), nullptr));
                }
            }
            return made;
        }
    }
    boost::asio::awaitable<std::vector<sample>> make_all_awaited(std::span<const index> indices,
                                                                 const batch_context* c) {
        std::vector<base_sample> taken = co_await take_batch_awaited(base_, indices, c);
        std::vector<sample> made;
        made.reserve(taken.size());
        for (base_sample& each : taken) {
            if constexpr (traits::function_uses_context) {
                context own = c->sample(made.size());
                sample one = co_await apply_awaited(each, &own);
                made.push_back(std::move(one));
            } else {
                sample one = co_await apply_awaited(each, nullptr);
                made.push_back(std::move(one));
            }
        }
        co_return made;
    }

    Base base_;
    Function function_;
};

template <class Function>
struct map_stage {
    Function function;
};

template <class Base, class Function>
auto operator|(Base&& base, map_stage<Function> stage) {
    using base_type = std::remove_cvref_t<Base>;
    if (pointed_dataset<base_type>::missing(base))
        throw_null_dataset();
    if constexpr (streamed<base_type>) {
        if constexpr (check_stream<base_type>::value)
            return map_stream(base_type(std::forward<Base>(base)), std::move(stage.function));
    } else if constexpr (check_dataset<base_type>::value) {
        return mapped_dataset<base_type, Function>(std::forward<Base>(base),
                                                   std::move(stage.function));
    }
}

}  // namespace detail

/// `dataset | map(f)` is the dataset of `f(sample)`, or `f(sample, context&)`: transforms and
/// augmentation, run in the workers. `f` takes the sample by value or by const reference and
/// returns what is to be the sample, of any type that can be collated, or a
/// boost::asio::awaitable of it. The dataset is moved or copied in, and may have coroutines or
/// make batches: then `f` is applied to each sample of a batch, one after the other. Stages share
/// the sample's context: random numbers go on where the stage before stopped.
///
/// `stream | map(f)` is the stream of these, with the base's shards and positions; there `f` is no
/// coroutine. A sample for which `f` throws is one that the base has read.
///
/// Thread safety: `f` is called by one thread at a time in each process.
template <class Function>
auto map(Function function) {
    return detail::map_stage<Function>{std::move(function)};
}

}  // namespace stoker
