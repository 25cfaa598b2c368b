#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include <stoker/core/index.hpp>
#include <stoker/dataset/batch_context.hpp>
#include <stoker/dataset/context.hpp>
#include <stoker/dataset/dataset.hpp>
#include <stoker/dataset/joined_share.hpp>
#include <stoker/dataset/row.hpp>
#include <stoker/dataset/size_of.hpp>
#include <stoker/dataset/take_sample.hpp>

namespace stoker::detail {

/// What joined datasets have in common.
template <class First, class... Others>
struct joined_traits {
    using sample = typename dataset_traits<First>::sample;
    template <class Other>
    using access = dataset_access<Other>;

    static constexpr bool one_sample =
        (std::is_same_v<sample, typename dataset_traits<Others>::sample> && ...);
    static constexpr bool batched = (access<First>::batched || ... || access<Others>::batched);
    static constexpr bool reads =
        !batched && (access<First>::reads || ... || access<Others>::reads);
    static constexpr bool gets = !batched && !reads;
    static constexpr bool uses_context =
        (access<First>::uses_context || ... || access<Others>::uses_context);
    static constexpr bool waits = (access<First>::waits || ... || access<Others>::waits);
    static constexpr bool opens = (access<First>::opens || ... || access<Others>::opens);
    static constexpr bool waits_to_open =
        (access<First>::waits_to_open || ... || access<Others>::waits_to_open);

    /// `take_sample` gives a reference to a sample that lies in the dataset.
    template <class D>
    static constexpr bool refers() {
        if constexpr (access<D>::reads || access<D>::waits || access<D>::batched) {
            return false;
        } else {
            return std::is_lvalue_reference_v<decltype(take_sample(std::declval<D&>(), index{},
                                                                   nullptr))>;
        }
    }
    /// What get() gives: no copy where none of them needs one.
    using given =
        std::conditional_t<(refers<First>() && ... && refers<Others>()), const sample&, sample>;
};

/// Adds a size to the end of the datasets before it. Throws error{invalid_dataset} beyond 2^64.
std::uint64_t add_sizes(std::uint64_t end, std::uint64_t size);

/// Datasets one after the other.
template <class Datasets>
class joined_dataset {
    using traits = typename Datasets::template apply<joined_traits>;
    static constexpr bool uses_context = traits::uses_context;
    static constexpr bool waits = traits::waits;
    using given = typename traits::given;

  public:
    using sample = typename traits::sample;

    explicit joined_dataset(Datasets datasets) : datasets_(std::move(datasets)) {
        std::uint64_t end = 0;
        for (std::size_t number = 0; number < datasets_.count(); ++number) {
            end = add_sizes(end, datasets_.visit(number, [](auto& each) { return size_of(each); }));
            ends_.push_back(end);
        }
    }

    std::uint64_t size() const { return ends_.empty() ? 0 : ends_.back(); }
    auto get(index i) -> decltype(auto) requires(traits::gets && !uses_context) {
        return get_from(i, nullptr);
    }
    auto get(index i, context& c) -> decltype(auto) requires(traits::gets&& uses_context) {
        return get_from(i, &c);
    }
    auto read(index i, row<sample> place) requires(traits::reads && !uses_context) {
        return read_from(i, place, nullptr);
    }
    auto read(index i, row<sample> place, context& c) requires(traits::reads&& uses_context) {
        return read_from(i, place, &c);
    }
    auto get(std::span<const index> indices) requires(traits::batched && !uses_context) {
        return get_all(indices, nullptr);
    }
    auto get(std::span<const index> indices,
             const batch_context& c) requires(traits::batched&& uses_context) {
        return get_all(indices, &c);
    }
    void open() requires(traits::opens && !traits::waits_to_open) {
        for (std::size_t number = 0; number < datasets_.count(); ++number) {
            datasets_.visit(number, []<class D>(D& each) {
                if constexpr (dataset_access<D>::opens)
                    dataset_access<D>::open(each);
            });
        }
    }
    boost::asio::awaitable<void> open() requires(traits::opens&& traits::waits_to_open) {
        for (std::size_t number = 0; number < datasets_.count(); ++number) {
            auto pending =
                datasets_.visit(number, []<class D>(D& each) { return open_awaited(each); });
            co_await std::move(pending);
        }
    }

  private:
    using awaited_sample = boost::asio::awaitable<sample>;
    using awaited_end = boost::asio::awaitable<void>;
    using places = std::vector<std::optional<sample>>;

    struct place_of {
        std::size_t dataset;
        index own;  ///< the index there
    };
    place_of locate(index i) const {
        if (i >= size())
            throw_out_of_range(i, size());
        const auto found = std::upper_bound(ends_.begin(), ends_.end(), i);
        const std::uint64_t first = found == ends_.begin() ? 0 : *(found - 1);
        return {static_cast<std::size_t>(found - ends_.begin()), i - first};
    }

    decltype(auto) get_from(index i, context* c) {
        const place_of at = locate(i);
        if constexpr (waits) {
            return datasets_.visit(at.dataset, [&](auto& each) -> awaited_sample {
                return take_awaited(each, at.own, c);
            });
        } else {
            return datasets_.visit(
                at.dataset, [&](auto& each) -> given { return take_sample(each, at.own, c); });
        }
    }

    auto read_from(index i, row<sample> place, context* c) {
        const place_of at = locate(i);
        if constexpr (waits) {
            return datasets_.visit(at.dataset, [&](auto& each) -> awaited_end {
                return read_awaited(each, at.own, place, c);
            });
        } else {
            return datasets_.visit(at.dataset,
                                   [&](auto& each) { read_plainly(each, at.own, place, c); });
        }
    }
    template <class D>
    static void read_plainly(D& each, index own, row<sample> place, context* c) {
        using access = dataset_access<D>;
        if constexpr (!access::reads) {
            place = take_sample(each, own, c);
        } else if constexpr (access::uses_context) {
            access::read(each, own, place, *c);
        } else {
            access::read(each, own, place);
        }
    }
    template <class D>
    static awaited_end read_awaited(D& each, index own, row<sample> place, context* c) {
        using access = dataset_access<D>;
        if constexpr (!access::waits) {
            read_plainly(each, own, place, c);
        } else if constexpr (!access::reads) {
            const sample made = co_await take_awaited(each, own, c);
            place = made;
        } else if constexpr (access::uses_context) {
            co_await access::read(each, own, place, *c);
        } else {
            co_await access::read(each, own, place);
        }
        co_return;
    }
    template <class D>
    static awaited_end open_awaited(D& each) {
        if constexpr (dataset_access<D>::waits_to_open) {
            co_await dataset_access<D>::open(each);
        } else if constexpr (dataset_access<D>::opens) {
            dataset_access<D>::open(each);
        }
        co_return;
    }

    auto get_all(std::span<const index> indices, const batch_context* c) {
        if constexpr (waits) {
            return get_all_awaited(indices, c);
        } else {
            const std::vector<joined_share> all = shares(indices);
            places made(indices.size());
            for (std::size_t number = 0; number < all.size(); ++number) {
                datasets_.visit(number,
                                [&](auto& each) { make_share(each, all[number], made, c); });
            }
            return taken(made);
        }
    }
    boost::asio::awaitable<std::vector<sample>> get_all_awaited(std::span<const index> indices,
                                                                const batch_context* c) {
        const std::vector<joined_share> all = shares(indices);
        places made(indices.size());
        for (std::size_t number = 0; number < all.size(); ++number) {
            auto pending = share_awaited(number, all[number], made, c);
            co_await std::move(pending);
        }
        std::vector<sample> result = taken(made);
        co_return result;
    }
    awaited_end share_awaited(std::size_t number, const joined_share& share, places& made,
                              const batch_context* c) {
        return datasets_.visit(number, [&](auto& each) -> awaited_end {
            return make_share_awaited(each, share, made, c);
        });
    }
    std::vector<joined_share> shares(std::span<const index> indices) const {
        std::vector<joined_share> all(ends_.size());
        for (std::size_t number = 0; number < indices.size(); ++number) {
            const place_of at = locate(indices[number]);
            all[at.dataset].add(at.own, number);
        }
        return all;
    }
    static std::vector<sample> taken(places& made) {
        std::vector<sample> all;
        all.reserve(made.size());
        for (auto& each : made)
            all.push_back(std::move(*each));
        return all;
    }

    Datasets datasets_;
    std::vector<std::uint64_t> ends_{};  ///< of each dataset in the whole
};

}  // namespace stoker::detail
