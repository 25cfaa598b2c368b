#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include <stoker/dataset/awaited.hpp>
#include <stoker/dataset/context.hpp>
#include <stoker/dataset/range_stream.hpp>
#include <stoker/dataset/stream.hpp>

namespace stoker::detail {

/// A stream with a function applied to each sample, in the worker that reads it.
template <class Base, class Function>
class mapped_stream {
    using access = stream_access<Base>;
    using base_reader = reader_of<Base>;
    using base_access = reader_access<base_reader>;
    using base_sample = typename base_access::sample;
    /// What looking at a given sample gives: a reference to one that lies somewhere, or its own.
    using taken = decltype(*std::declval<typename base_access::given>());

    template <class Taken, class... Context>
    static constexpr bool callable = std::is_invocable_v<Function&, Taken, Context...>;
    /// What lies in the base is passed as const: a map never changes what is below it.
    static constexpr bool by_reference =
        std::is_lvalue_reference_v<taken> &&
        (callable<const base_sample&> || callable<const base_sample&, context&>);
    using argument = std::conditional_t<by_reference, const base_sample&, base_sample&&>;
    static constexpr bool function_uses_context = callable<argument, context&>;
    static_assert(function_uses_context || callable<argument>,
                  "stoker: map(f) calls f(sample) or f(sample, context&), the sample by value or "
                  "const reference; this f takes neither");

    static decltype(auto) apply(Function& function, argument sample, context& c) {
        if constexpr (function_uses_context) {
            return std::invoke(function, std::forward<argument>(sample), c);
        } else {
            return std::invoke(function, std::forward<argument>(sample));
        }
    }
    using made = std::remove_cvref_t<decltype(apply(
        std::declval<Function&>(), std::declval<argument>(), std::declval<context&>()))>;
    static_assert(!is_awaitable<made>, "stoker: map(f) of a stream needs a function, no coroutine");

  public:
    class reader {
      public:
        reader(Base& base, std::uint64_t shard, std::uint64_t position, Function& function)
            : base_(access::open(base, shard, position)), function_(&function) {}

        std::optional<made> next(context& c) {
            auto&& given = base_access::next(base_, c);
            if (!given)
                return std::nullopt;
            if constexpr (by_reference) {
                return apply(*function_, *given, c);
            } else {
                base_sample sample = *std::forward<decltype(given)>(given);
                return apply(*function_, std::move(sample), c);
            }
        }
        std::uint64_t position() { return base_access::position(base_); }

      private:
        base_reader base_;
        Function* function_;
    };

    mapped_stream(Base base, Function function)
        : base_(std::move(base)), function_(std::move(function)) {}

    std::size_t shard_count() { return static_cast<std::size_t>(access::shard_count(base_)); }
    std::uint64_t size() requires(access::sized) { return access::size(base_); }
    void open() requires(access::opens) { access::open(base_); }
    reader open(std::size_t shard, std::uint64_t position) {
        return reader(base_, shard, position, function_);
    }

  private:
    Base base_;
    Function function_;
};

template <class Base, class Function>
auto map_stream(Base base, Function function) {
    if constexpr (plain_range<typename pointed_dataset<Base>::type>) {
        return mapped_stream<range_stream<Base>, Function>(range_stream<Base>(std::move(base)),
                                                           std::move(function));
    } else {
        return mapped_stream<Base, Function>(std::move(base), std::move(function));
    }
}

}  // namespace stoker::detail
