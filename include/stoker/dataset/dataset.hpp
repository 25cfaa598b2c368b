#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <ranges>
#include <type_traits>
#include <utility>

#include <stoker/core/index.hpp>
#include <stoker/dataset/context.hpp>
#include <stoker/dataset/row.hpp>

namespace stoker {

namespace detail {

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
template <class D>
concept reads_with_context = requires(D& dataset, row<typename read_sample<D>::type> place,
                                      context& c) {
    dataset.read(index{}, place, c);
};
template <class D>
concept reads_plain = requires(D& dataset, row<typename read_sample<D>::type> place) {
    dataset.read(index{}, place);
};
template <class D>
concept gets_with_context = requires(D& dataset, context& c) {
    dataset.get(index{}, c);
};
template <class D>
concept gets_plain = requires(D& dataset) {
    dataset.get(index{});
};
/// Ranges of the standard library's kind, and range-v3's, which has its own concepts.
template <class D>
concept indexed = std::ranges::random_access_range<D> || requires(D& dataset) {
    dataset.begin()[0];
    dataset[0];
};

/// How samples come out of a dataset, best way first.
enum class access_kind { none, read_with_context, read, get_with_context, get, range };

template <class D>
constexpr access_kind kind_of_access() {
    if constexpr (reads_with_context<D>) {
        return access_kind::read_with_context;
    } else if constexpr (reads_plain<D>) {
        return access_kind::read;
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

/// The one way in which stoker calls a dataset. `D` may be a smart pointer to one.
template <class D>
struct dataset_access {
    using target = typename pointed_dataset<D>::type;
    static constexpr access_kind kind = kind_of_access<target>();
    static constexpr bool reads =
        kind == access_kind::read || kind == access_kind::read_with_context;
    static constexpr bool uses_context =
        kind == access_kind::get_with_context || kind == access_kind::read_with_context;
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
    static void read(D& dataset, index i, row<Sample> place, Context&... c) {
        auto& self = pointed_dataset<D>::of(dataset);
        static_assert(std::is_void_v<decltype(self.read(i, place, c...))>,
                      "stoker: a dataset's read(index, row) returns void");
        self.read(i, place, c...);
    }
    static void open(D& dataset) {
        if constexpr (opens) {
            auto& self = pointed_dataset<D>::of(dataset);
            static_assert(std::is_void_v<decltype(self.open())>,
                          "stoker: a dataset's open() returns void");
            self.open();
        }
    }
};

/// What `dataset_access<D>::get` or `read` makes; void when there is neither.
template <class D>
struct sample_type : std::type_identity<void> {};
template <class D>
    requires(dataset_access<D>::reads)
struct sample_type<D> : read_sample<typename dataset_access<D>::target> {};
template <class D>
    requires(dataset_access<D>::kind == access_kind::get)
struct sample_type<D> : std::remove_cvref<decltype(dataset_access<D>::get(std::declval<D&>(), 0))> {
};
template <class D>
    requires(dataset_access<D>::kind == access_kind::get_with_context)
struct sample_type<D> : std::remove_cvref<decltype(dataset_access<D>::get(
                            std::declval<D&>(), 0, std::declval<context&>()))> {};
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

}  // namespace detail

/// What a loader can load: a class with `size()` and one of
///
/// - `get(index)` or `get(index, context&)`, which return a sample, a plain struct;
/// - `read(index, row<Sample>)` or with `context&` behind it, which writes the sample into the
///   batch's memory (`using sample = …;` where `read` is overloaded or a template);
/// - random access: std::vector, std::views::iota | std::views::transform, range-v3 views;
///
/// or a std::shared_ptr or std::unique_ptr to one. The first of read, get and random access that is
/// there is used, with a context where it takes one. They may be non-const. `void open()`, when
/// there, is called once in each worker before its first sample: the place for connections.
///
/// Thread safety: one process calls one dataset object from one thread.
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
    static_assert(!void_get, "stoker: a dataset's get(index) returns the sample, not void");
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
    /// It asks for the sample's context.
    static constexpr bool uses_context = detail::dataset_access<D>::uses_context;
};

}  // namespace stoker
