#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <stoker/core/index.hpp>
#include <stoker/dataset/context.hpp>
#include <stoker/dataset/dataset.hpp>
#include <stoker/dataset/row.hpp>
#include <stoker/dataset/size_of.hpp>

namespace stoker {

namespace detail {

/// Datasets of several types, by number.
template <class... Datasets>
class tuple_of_datasets {
  public:
    template <template <class...> class Traits>
    using apply = Traits<Datasets...>;

    explicit tuple_of_datasets(Datasets... datasets) : datasets_(std::move(datasets)...) {}

    std::size_t count() const { return sizeof...(Datasets); }
    template <std::size_t Number = 0, class Use>
    decltype(auto) visit(std::size_t number, Use&& use) {
        if constexpr (Number + 1 < sizeof...(Datasets)) {
            if (number != Number)
                return visit<Number + 1>(number, use);
        }
        return use(std::get<Number>(datasets_));
    }

  private:
    std::tuple<Datasets...> datasets_;
};

/// Datasets of one type, by number.
template <class Dataset>
class list_of_datasets {
  public:
    template <template <class...> class Traits>
    using apply = Traits<Dataset>;

    explicit list_of_datasets(std::vector<Dataset> datasets) : datasets_(std::move(datasets)) {}

    std::size_t count() const { return datasets_.size(); }
    template <class Use>
    decltype(auto) visit(std::size_t number, Use&& use) {
        return use(datasets_[number]);
    }

  private:
    std::vector<Dataset> datasets_;
};

/// What joined datasets have in common.
template <class First, class... Others>
struct joined_traits {
    using sample = typename dataset_traits<First>::sample;
    static constexpr bool one_sample =
        (std::is_same_v<sample, typename dataset_traits<Others>::sample> && ...);
    static constexpr bool reads =
        dataset_access<First>::reads || (dataset_access<Others>::reads || ...);
    static constexpr bool uses_context =
        dataset_access<First>::uses_context || (dataset_access<Others>::uses_context || ...);
    static constexpr bool opens =
        dataset_access<First>::opens || (dataset_access<Others>::opens || ...);

    /// `access::get` gives a reference to a sample that lies in the dataset.
    template <class D>
    static constexpr bool refers() {
        using access = dataset_access<D>;
        if constexpr (access::reads) {
            return false;
        } else if constexpr (access::uses_context) {
            return std::is_lvalue_reference_v<decltype(access::get(std::declval<D&>(), index{},
                                                                   std::declval<context&>()))>;
        } else {
            return std::is_lvalue_reference_v<decltype(access::get(std::declval<D&>(), index{}))>;
        }
    }
    /// What get() gives: no copy where none of them needs one.
    using given =
        std::conditional_t<refers<First>() && (refers<Others>() && ...), const sample&, sample>;
};

/// Adds a size to the end of the datasets before it. Throws error{invalid_dataset} beyond 2^64.
std::uint64_t add_sizes(std::uint64_t end, std::uint64_t size);

template <class Datasets>
class joined_dataset {
    using traits = typename Datasets::template apply<joined_traits>;
    static constexpr bool reads = traits::reads;
    static constexpr bool uses_context = traits::uses_context;
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
    given get(index i) requires(!reads && !uses_context) { return get_from(i, nullptr); }
    given get(index i, context& c) requires(!reads && uses_context) { return get_from(i, &c); }
    void read(index i, row<sample> place) requires(reads && !uses_context) {
        read_from(i, place, nullptr);
    }
    void read(index i, row<sample> place, context& c) requires(reads&& uses_context) {
        read_from(i, place, &c);
    }
    void open() requires(traits::opens) {
        for (std::size_t number = 0; number < datasets_.count(); ++number) {
            datasets_.visit(number, []<class D>(D& each) {
                if constexpr (dataset_access<D>::opens)
                    dataset_access<D>::open(each);
            });
        }
    }

  private:
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
    given get_from(index i, context* c) {
        const place_of at = locate(i);
        return datasets_.visit(at.dataset, [&]<class D>(D& each) -> given {
            using access = dataset_access<D>;
            if constexpr (access::uses_context) {
                return access::get(each, at.own, *c);
            } else {
                return access::get(each, at.own);
            }
        });
    }
    void read_from(index i, row<sample> place, context* c) {
        const place_of at = locate(i);
        datasets_.visit(at.dataset, [&]<class D>(D& each) {
            using access = dataset_access<D>;
            if constexpr (access::reads && access::uses_context) {
                access::read(each, at.own, place, *c);
            } else if constexpr (access::reads) {
                access::read(each, at.own, place);
            } else if constexpr (access::uses_context) {
                place = access::get(each, at.own, *c);
            } else {
                place = access::get(each, at.own);
            }
        });
    }

    Datasets datasets_;
    std::vector<std::uint64_t> ends_{};  ///< of each dataset in the whole
};

template <class Datasets>
auto join(Datasets datasets) {
    constexpr bool one_sample = Datasets::template apply<joined_traits>::one_sample;
    static_assert(one_sample,
                  "stoker: concat(a, b, …) needs datasets of one sample type; map the others to "
                  "it: b | stoker::map(f)");
    if constexpr (one_sample)
        return joined_dataset<Datasets>(std::move(datasets));
}

}  // namespace detail

/// One dataset after the other: samples of `first`, then those of the next. All have the same
/// sample type. They are moved or copied in, their sizes are taken now, and each is used as it is
/// used by itself: open() of each runs once, contexts pass through, read() stays in place (when one
/// of them reads, samples that the others return are copied to their place once).
///
///     stoker::concat(read_digits("a.csv"), read_digits("b.csv"), generated_digits{})
///
/// An index that it does not have is error{index_out_of_range}, naming index and size.
///
/// Thread safety: as the datasets'.
template <class First, class Second, class... Others>
auto concat(First first, Second second, Others... others) {
    constexpr bool valid = detail::check_dataset<First>::value &&
                           detail::check_dataset<Second>::value &&
                           (detail::check_dataset<Others>::value && ...);
    if constexpr (valid) {
        return detail::join(detail::tuple_of_datasets<First, Second, Others...>(
            std::move(first), std::move(second), std::move(others)...));
    }
}

/// The same for any number of datasets of one type.
template <class Dataset>
auto concat(std::vector<Dataset> datasets) {
    if constexpr (detail::check_dataset<Dataset>::value)
        return detail::join(detail::list_of_datasets<Dataset>(std::move(datasets)));
}

}  // namespace stoker
