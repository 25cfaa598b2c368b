#pragma once

#include <type_traits>
#include <utility>
#include <vector>

#include <stoker/dataset/dataset.hpp>
#include <stoker/dataset/datasets_together.hpp>
#include <stoker/dataset/joined_dataset.hpp>

namespace stoker {

namespace detail {

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
/// used by itself: open() of each runs once, contexts pass through, coroutines are awaited, read()
/// stays in place (when one of them reads, samples that the others return are copied to their place
/// once). When one of them has a batched get(), so has the whole: each gets its share of a batch by
/// one call, or, when it uses the batch's context, by one for each run of indices.
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
