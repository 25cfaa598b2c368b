#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>

#include <stoker/core/index.hpp>
#include <stoker/dataset/awaited.hpp>
#include <stoker/dataset/batch_context.hpp>
#include <stoker/dataset/context.hpp>
#include <stoker/dataset/row.hpp>

namespace stoker::detail {

/// A dataset behind a smart pointer is used through it.
template <class D>
struct pointed_dataset {
    using type = D;
    static D& of(D& dataset) noexcept { return dataset; }
    static bool missing(const D&) noexcept { return false; }
};
template <class Pointer>
struct dataset_pointer {
    using type = typename Pointer::element_type;
    static type& of(const Pointer& pointer) noexcept { return *pointer; }
    static bool missing(const Pointer& pointer) noexcept { return pointer == nullptr; }
};
template <class D>
struct pointed_dataset<std::shared_ptr<D>> : dataset_pointer<std::shared_ptr<D>> {};
template <class D, class Deleter>
struct pointed_dataset<std::unique_ptr<D, Deleter>> : dataset_pointer<std::unique_ptr<D, Deleter>> {
};

/// The sample of a `read(index, row<Sample>, …)` that is neither overloaded nor a template.
template <class Function>
struct read_signature {};
template <class C, class Result, class Index, class Sample, class... More>
struct read_signature<Result (C::*)(Index, row<Sample>, More...)> : std::type_identity<Sample> {};
template <class C, class Result, class Index, class Sample, class... More>
struct read_signature<Result (C::*)(Index, row<Sample>, More...) const>
    : std::type_identity<Sample> {};
template <class C, class Result, class Index, class Sample, class... More>
struct read_signature<Result (C::*)(Index, row<Sample>, More...) noexcept>
    : std::type_identity<Sample> {};
template <class C, class Result, class Index, class Sample, class... More>
struct read_signature<Result (C::*)(Index, row<Sample>, More...) const noexcept>
    : std::type_identity<Sample> {};

template <class D>
concept names_sample = requires {
    typename D::sample;
};
template <class D>
concept plainly_reads = requires {
    typename read_signature<decltype(&D::read)>::type;
};

/// The sample that a dataset with read() makes: the one it names, else the one read() takes.
template <class D>
struct read_sample {};
template <names_sample D>
struct read_sample<D> : std::type_identity<typename D::sample> {};
template <plainly_reads D>
    requires(!names_sample<D>)
struct read_sample<D> : read_signature<decltype(&D::read)> {};

template <class D>
concept has_size = requires(D& dataset) {
    static_cast<std::uint64_t>(dataset.size());
}
|| std::ranges::sized_range<D>;
// Asked with an index that is a variable: g++ takes `index{}` for a null pointer.
template <class D>
concept reads_with_context = requires(D& dataset, index i,
                                      row<typename read_sample<D>::type> place, context& c) {
    dataset.read(i, place, c);
};
template <class D>
concept reads_plain = requires(D& dataset, index i, row<typename read_sample<D>::type> place) {
    dataset.read(i, place);
};
template <class D>
concept gets_batch_with_context = requires(D& dataset, const batch_context& c) {
    dataset.get(std::span<const index>(), c);
};
template <class D>
concept gets_batch = requires(D& dataset) {
    dataset.get(std::span<const index>());
};
template <class D>
concept gets_with_context = requires(D& dataset, index i, context& c) {
    dataset.get(i, c);
};
template <class D>
concept gets_plain = requires(D& dataset, index i) {
    dataset.get(i);
};
/// Ranges of the standard library's kind, and range-v3's, which has its own concepts.
template <class D>
concept indexed = std::ranges::random_access_range<D> || requires(D& dataset) {
    dataset.begin()[0];
    dataset[0];
};

/// How samples come out of a dataset, best way first.
enum class access_kind {
    none,
    read_with_context,
    read,
    get_batch_with_context,
    get_batch,
    get_with_context,
    get,
    range,
};

template <class D>
constexpr access_kind kind_of_access() {
    if constexpr (reads_with_context<D>) {
        return access_kind::read_with_context;
    } else if constexpr (reads_plain<D>) {
        return access_kind::read;
    } else if constexpr (gets_batch_with_context<D>) {
        return access_kind::get_batch_with_context;
    } else if constexpr (gets_batch<D>) {
        return access_kind::get_batch;
    } else if constexpr (gets_with_context<D>) {
        return access_kind::get_with_context;
    } else if constexpr (gets_plain<D>) {
        return access_kind::get;
    } else if constexpr (indexed<D>) {
        return access_kind::range;
    } else {
        return access_kind::none;
    }
}

/// Throws error{invalid_dataset}.
[[noreturn]] void throw_negative_size(std::int64_t size);

/// What an expression of a dataset's gives: itself, or a coroutine for it.
template <class Result>
constexpr bool gives_nothing() {
    return std::is_void_v<typename awaited<Result>::type>;
}

/// The one way in which stoker calls a dataset. `D` may be a smart pointer to one. Each call gives
/// what the dataset's function gives, which where `waits` is a coroutine to be awaited.
template <class D>
struct dataset_access {
    using target = typename pointed_dataset<D>::type;
    static constexpr access_kind kind = kind_of_access<target>();
    static constexpr bool reads =
        kind == access_kind::read || kind == access_kind::read_with_context;
    /// A whole batch by one call.
    static constexpr bool batched =
        kind == access_kind::get_batch || kind == access_kind::get_batch_with_context;
    static constexpr bool uses_context = kind == access_kind::get_with_context ||
                                         kind == access_kind::read_with_context ||
                                         kind == access_kind::get_batch_with_context;
    static constexpr bool opens = requires(target & dataset) { dataset.open(); };

    static std::uint64_t size(D& dataset) {
        auto& self = pointed_dataset<D>::of(dataset);
        if constexpr (requires { static_cast<std::uint64_t>(self.size()); }) {
            const auto samples = self.size();
            if constexpr (std::signed_integral<std::remove_const_t<decltype(samples)>>) {
                if (samples < 0)
                    throw_negative_size(samples);
            }
            return static_cast<std::uint64_t>(samples);
        } else {
            return static_cast<std::uint64_t>(std::ranges::size(self));
        }
    }
    /// `c` is the sample's context when the dataset uses one, otherwise nothing.
    template <class... Context>
    static decltype(auto) get(D& dataset, index i, Context&... c) {
        auto& self = pointed_dataset<D>::of(dataset);
        if constexpr (kind == access_kind::range) {
            if constexpr (std::ranges::random_access_range<target>) {
                using difference = std::ranges::range_difference_t<target>;
                return std::ranges::begin(self)[static_cast<difference>(i)];
            } else {
                using difference = decltype(self.end() - self.begin());
                return self.begin()[static_cast<difference>(i)];
            }
        } else {
            return self.get(i, c...);
        }
    }
    template <class Sample, class... Context>
    static decltype(auto) read(D& dataset, index i, row<Sample> place, Context&... c) {
        auto& self = pointed_dataset<D>::of(dataset);
        static_assert(gives_nothing<decltype(self.read(i, place, c...))>(),
                      "stoker: a dataset's read(index, row) returns void or awaitable<void>");
        return self.read(i, place, c...);
    }
    /// `c` is the batch's context when the dataset uses one, otherwise nothing.
    template <class... Context>
    static decltype(auto) get_batch(D& dataset, std::span<const index> indices,
                                    const Context&... c) {
        return pointed_dataset<D>::of(dataset).get(indices, c...);
    }
    static decltype(auto) open([[maybe_unused]] D& dataset) {
        if constexpr (opens) {
            auto& self = pointed_dataset<D>::of(dataset);
            static_assert(gives_nothing<decltype(self.open())>(),
                          "stoker: a dataset's open() returns void or awaitable<void>");
            return self.open();
        }
    }

    /// Its functions are coroutines.
    static constexpr bool waits = [] {
        if constexpr (kind == access_kind::read) {
            return is_awaitable<decltype(std::declval<target&>().read(
                index{}, std::declval<row<typename read_sample<target>::type>>()))>;
        } else if constexpr (kind == access_kind::read_with_context) {
            return is_awaitable<decltype(std::declval<target&>().read(
                index{}, std::declval<row<typename read_sample<target>::type>>(),
                std::declval<context&>()))>;
        } else if constexpr (kind == access_kind::get_batch) {
            return is_awaitable<decltype(std::declval<target&>().get(std::span<const index>()))>;
        } else if constexpr (kind == access_kind::get_batch_with_context) {
            return is_awaitable<decltype(std::declval<target&>().get(
                std::span<const index>(), std::declval<const batch_context&>()))>;
        } else if constexpr (kind == access_kind::get) {
            return is_awaitable<decltype(std::declval<target&>().get(index{}))>;
        } else if constexpr (kind == access_kind::get_with_context) {
            return is_awaitable<decltype(std::declval<target&>().get(index{},
                                                                     std::declval<context&>()))>;
        } else {
            return false;
        }
    }();
    static constexpr bool waits_to_open = [] {
        if constexpr (opens) {
            return is_awaitable<decltype(std::declval<target&>().open())>;
        } else {
            return false;
        }
    }();
};

/// The samples that a batched get() gives.
template <class Batch>
struct batch_sample : std::type_identity<void> {};
template <std::ranges::input_range Batch>
struct batch_sample<Batch> : std::type_identity<std::ranges::range_value_t<Batch>> {};

/// What `dataset_access<D>::get` or `read` makes; void when there is neither.
template <class D>
struct sample_type : std::type_identity<void> {};
template <class D>
    requires(dataset_access<D>::reads)
struct sample_type<D> : read_sample<typename dataset_access<D>::target> {};
template <class D>
    requires(dataset_access<D>::kind == access_kind::get)
struct sample_type<D>
    : std::remove_cvref<awaited_result<decltype(dataset_access<D>::get(std::declval<D&>(), 0))>> {};
template <class D>
    requires(dataset_access<D>::kind == access_kind::get_with_context)
struct sample_type<D> : std::remove_cvref<awaited_result<decltype(dataset_access<D>::get(
                            std::declval<D&>(), 0, std::declval<context&>()))>> {};
template <class D>
    requires(dataset_access<D>::kind == access_kind::get_batch)
struct sample_type<D>
    : batch_sample<std::remove_cvref_t<awaited_result<decltype(dataset_access<D>::get_batch(
          std::declval<D&>(), std::span<const index>()))>>> {};
template <class D>
    requires(dataset_access<D>::kind == access_kind::get_batch_with_context)
struct sample_type<D>
    : batch_sample<std::remove_cvref_t<awaited_result<decltype(dataset_access<D>::get_batch(
          std::declval<D&>(), std::span<const index>(), std::declval<const batch_context&>()))>>> {
};
template <class D>
    requires(dataset_access<D>::kind == access_kind::range &&
             std::ranges::random_access_range<typename dataset_access<D>::target>)
struct sample_type<D>
    : std::type_identity<std::ranges::range_value_t<typename dataset_access<D>::target>> {};
template <class D>
    requires(dataset_access<D>::kind == access_kind::range &&
             !std::ranges::random_access_range<typename dataset_access<D>::target>)
struct sample_type<D> : std::remove_cvref<decltype(dataset_access<D>::get(std::declval<D&>(), 0))> {
};

}  // namespace stoker::detail
