#pragma once

#include <cstdint>
#include <initializer_list>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include <stoker/core/index.hpp>
#include <stoker/dataset/batch_context.hpp>
#include <stoker/dataset/context.hpp>
#include <stoker/dataset/dataset.hpp>
#include <stoker/dataset/row.hpp>
#include <stoker/dataset/size_of.hpp>
#include <stoker/dataset/take_sample.hpp>

namespace stoker {

namespace detail {

/// The samples of a dataset that `Choice` chooses: it has `size()` and gives the base's index for
/// each index of its own.
template <class Base, class Choice>
class chosen_dataset {
    using access = dataset_access<Base>;
    static constexpr bool gets = !access::reads && !access::batched;

  public:
    using sample = typename dataset_traits<Base>::sample;

    chosen_dataset(Base base, Choice choice)
        : base_(std::move(base)), base_size_(size_of(base_)), choice_(std::move(choice)) {}

    std::uint64_t size() { return choice_.size(); }
    // Where the dataset has coroutines these give them on.
    decltype(auto) get(index i) requires(gets && !access::uses_context) {
        return access::get(base_, chosen(i));
    }
    decltype(auto) get(index i, context& c) requires(gets&& access::uses_context) {
        return access::get(base_, chosen(i), c);
    }
    decltype(auto) read(index i,
                        row<sample> place) requires(access::reads && !access::uses_context) {
        return access::read(base_, chosen(i), place);
    }
    decltype(auto) read(index i, row<sample> place,
                        context& c) requires(access::reads&& access::uses_context) {
        return access::read(base_, chosen(i), place, c);
    }
    auto get(std::span<const index> indices) requires(access::batched && !access::uses_context) {
        return get_all(indices, nullptr);
    }
    auto get(std::span<const index> indices,
             const batch_context& c) requires(access::batched&& access::uses_context) {
        return get_all(indices, &c);
    }
    decltype(auto) open() requires(access::opens) { return access::open(base_); }

  private:
    index chosen(index i) {
        if (i >= choice_.size())
            throw_out_of_range(i, choice_.size());
        const index of_base = choice_(i);
        if (of_base >= base_size_)
            throw_out_of_range(of_base, base_size_);
        return of_base;
    }
    std::vector<index> all_chosen(std::span<const index> indices) {
        std::vector<index> of_base;
        for (const index i : indices)
            of_base.push_back(chosen(i));
        return of_base;
    }
    auto get_all(std::span<const index> indices, const batch_context* c) {
        if constexpr (access::waits) {
            return get_all_awaited(indices, c);
        } else {
            const std::vector<index> of_base = all_chosen(indices);
            return take_batch(base_, of_base, c);
        }
    }
    boost::asio::awaitable<std::vector<sample>> get_all_awaited(std::span<const index> indices,
                                                                const batch_context* c) {
        const std::vector<index> of_base = all_chosen(indices);
        std::vector<sample> all = co_await take_batch_awaited(base_, of_base, c);
        co_return all;
    }

    Base base_;
    std::uint64_t base_size_;
    Choice choice_;
};

/// The indices of a subset, in their own order. They are kept as they are when any of them can be
/// had at once, which costs a view no memory.
template <class Indices>
class listed_choice {
  public:
    explicit listed_choice(Indices indices) : indices_(std::move(indices)) {}

    std::uint64_t size() { return static_cast<std::uint64_t>(std::ranges::size(indices_)); }
    index operator()(index i) {
        using difference = std::ranges::range_difference_t<Indices>;
        return to_index(std::ranges::begin(indices_)[static_cast<difference>(i)]);
    }

  private:
    Indices indices_;
};

/// Throws error{index_out_of_range} that names the first of them that a dataset of `size` samples
/// does not have.
template <class Indices>
void require_indices(Indices&& indices, std::uint64_t size) {
    for (const auto each : indices) {
        if (to_index(each) >= size)
            throw_out_of_range(to_index(each), size);
    }
}

template <class Indices>
auto make_choice(Indices&& indices, std::uint64_t size) {
    using range = std::remove_cvref_t<Indices>;
    static_assert(std::ranges::input_range<range>,
                  "stoker: subset(dataset, indices) needs a range of integers");
    static_assert(index_value<std::ranges::range_reference_t<range>>,
                  "stoker: subset(dataset, indices) needs a range of integers; these are none");
    constexpr bool at_once =
        std::ranges::random_access_range<range> && std::ranges::sized_range<range>;
    if constexpr (at_once && std::ranges::view<range>) {
        return listed_choice<range>(std::forward<Indices>(indices));
    } else if constexpr (at_once) {
        require_indices(indices, size);
        return listed_choice<range>(std::forward<Indices>(indices));
    } else {
        std::vector<index> list;
        for (auto&& each : indices)
            list.push_back(to_index(each));
        require_indices(list, size);
        return listed_choice<std::vector<index>>(std::move(list));
    }
}

}  // namespace detail

/// The samples of `dataset` at these indices, in this order: sample i of the result is sample
/// `indices[i]` of the dataset. An index may come twice.
///
///     stoker::subset(digits, {0, 2, 4})
///     stoker::subset(digits, std::views::iota(0, 100))                  // the first hundred
///     stoker::subset(digits, ranges::views::iota(0, 1797) | ranges::views::stride(10))
///
/// `indices` is any range of integers, moved or copied in; views that can give any of them at once
/// take no memory. The dataset is moved or copied in, and used as it is used by itself: read()
/// stays in place, contexts pass through, open() runs once.
///
/// Throws error{index_out_of_range}, naming index and size, for an index that the dataset does not
/// have: here for a list, when that sample is asked for by a view. What lies behind a view must
/// outlive the result.
///
/// Thread safety: as the dataset's.
template <class Dataset, class Indices>
auto subset(Dataset dataset, Indices&& indices) {
    if constexpr (detail::check_dataset<Dataset>::value) {
        const std::uint64_t size = detail::size_of(dataset);
        auto choice = detail::make_choice(std::forward<Indices>(indices), size);
        return detail::chosen_dataset<Dataset, decltype(choice)>(std::move(dataset),
                                                                 std::move(choice));
    }
}

/// The same for indices in braces.
template <class Dataset, class Integer>
auto subset(Dataset dataset, std::initializer_list<Integer> indices) {
    return subset(std::move(dataset), std::vector<Integer>(indices));
}

}  // namespace stoker
