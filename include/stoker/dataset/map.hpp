#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>

#include <stoker/dataset/dataset.hpp>

namespace stoker {

namespace detail {

/// A dataset with a function applied to each sample, in the worker that makes it.
template <class Base, class Function>
class mapped_dataset {
    using access = dataset_access<Base>;
    using base_sample = typename dataset_traits<Base>::sample;

    /// What the base gives: a reference into it, or a sample of its own.
    static decltype(auto) take(Base& base, index i, context* c) {
        if constexpr (access::reads) {
            base_sample made{};
            std::array<std::byte*, inline_columns<base_sample>()> places{};
            point_into(made, places.data());
            const row<base_sample> place(places.data(), 0);
            if constexpr (access::uses_context) {
                access::read(base, i, place, *c);
            } else {
                access::read(base, i, place);
            }
            return made;
        } else if constexpr (access::uses_context) {
            return access::get(base, i, *c);
        } else {
            return access::get(base, i);
        }
    }
    using taken = decltype(take(std::declval<Base&>(), index{}, nullptr));
    template <class Taken, class... Context>
    static constexpr bool callable = std::is_invocable_v<Function&, Taken, Context...>;

    /// A reference into the base is passed as const: a map never changes the dataset below it.
    static constexpr bool by_reference =
        std::is_lvalue_reference_v<taken> &&
        (callable<const base_sample&> || callable<const base_sample&, context&>);
    using argument = std::conditional_t<by_reference, const base_sample&, base_sample&&>;
    static constexpr bool function_uses_context = callable<argument, context&>;
    static_assert(function_uses_context || callable<argument>,
                  "stoker: map(f) calls f(sample) or f(sample, context&), the sample by value or "
                  "const reference; this f takes neither");
    static constexpr bool uses_context = access::uses_context || function_uses_context;

    auto apply(argument sample, context* c) {
        if constexpr (function_uses_context) {
            return std::invoke(function_, std::forward<argument>(sample), *c);
        } else {
            return std::invoke(function_, std::forward<argument>(sample));
        }
    }
    auto make(index i, context* c) {
        if constexpr (by_reference) {
            return apply(take(base_, i, c), c);
        } else {
            base_sample sample = take(base_, i, c);
            return apply(std::move(sample), c);
        }
    }

  public:
    mapped_dataset(Base base, Function function)
        : base_(std::move(base)), function_(std::move(function)) {}

    std::uint64_t size() { return access::size(base_); }
    auto get(index i) requires(!uses_context) { return make(i, nullptr); }
    auto get(index i, context& c) requires(uses_context) { return make(i, &c); }
    void open() requires(access::opens) { access::open(base_); }

  private:
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
    if constexpr (check_dataset<base_type>::value) {
        return mapped_dataset<base_type, Function>(std::forward<Base>(base),
                                                   std::move(stage.function));
    }
}

}  // namespace detail

/// `dataset | map(f)` is the dataset of `f(sample)`, or `f(sample, context&)`: transforms and
/// augmentation, run in the workers. `f` takes the sample by value or by const reference and
/// returns what is to be the sample, of any type that can be collated. The dataset is moved or
/// copied in. Stages share the sample's context: random numbers go on where the stage before
/// stopped.
///
/// Thread safety: `f` is called by one thread at a time in each process.
template <class Function>
auto map(Function function) {
    return detail::map_stage<Function>{std::move(function)};
}

}  // namespace stoker
