#pragma once

#include <sys/types.h>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include <stoker/core/index.hpp>
#include <stoker/dataset/dataset.hpp>
#include <stoker/dataset/size_of.hpp>
#include <stoker/dataset/subset.hpp>

namespace stoker {

namespace detail {

class permutation;

/// Samples of each part, as `torch.utils.data.random_split` counts them. Throws
/// error{invalid_option} that names the sum, or the part that cannot be.
std::vector<std::uint64_t> split_sizes(std::span<const double> fractions, double tolerance,
                                       std::uint64_t size);
/// The same for counts; negative ones are wrapped.
std::vector<std::uint64_t> split_sizes(std::span<const index> counts, std::uint64_t size);

/// The keyed order that a dataset of `size` samples is split in.
std::shared_ptr<const permutation> split_order(std::uint64_t size, std::uint64_t seed);

/// One part of that order.
class split_choice {
  public:
    split_choice(std::shared_ptr<const permutation> order, std::uint64_t first, std::uint64_t size)
        : order_(std::move(order)), first_(first), size_(size) {}

    std::uint64_t size() const { return size_; }
    index operator()(index i) const;

  private:
    std::shared_ptr<const permutation> order_;
    std::uint64_t first_;
    std::uint64_t size_;
};

/// Lets the parts of a split open their dataset once in each process.
class opened_once {
  public:
    bool done_here() const;
    void done();

  private:
    pid_t process_ = 0;
};

template <class Dataset>
class split_part : public chosen_dataset<std::shared_ptr<Dataset>, split_choice> {
    using chosen = chosen_dataset<std::shared_ptr<Dataset>, split_choice>;
    static constexpr bool opens = dataset_access<Dataset>::opens;

  public:
    split_part(std::shared_ptr<Dataset> dataset, split_choice choice,
               std::shared_ptr<opened_once> opened)
        : chosen(std::move(dataset), std::move(choice)), opened_(std::move(opened)) {}

    void open() requires(opens && !dataset_access<Dataset>::waits_to_open) {
        if (opened_->done_here())
            return;
        chosen::open();
        opened_->done();
    }
    boost::asio::awaitable<void> open() requires(opens&& dataset_access<Dataset>::waits_to_open) {
        if (opened_->done_here())
            co_return;
        co_await chosen::open();
        opened_->done();
    }

  private:
    std::shared_ptr<opened_once> opened_;
};

template <class Dataset>
std::shared_ptr<Dataset> share(std::shared_ptr<Dataset> dataset) {
    return dataset;
}
template <class Dataset, class Deleter>
std::shared_ptr<Dataset> share(std::unique_ptr<Dataset, Deleter> dataset) {
    return dataset;
}
template <class Dataset>
std::shared_ptr<Dataset> share(Dataset dataset) {
    return std::make_shared<Dataset>(std::move(dataset));
}

template <class Dataset, std::size_t... Number>
auto split(Dataset dataset, const std::vector<std::uint64_t>& sizes, std::uint64_t seed,
           std::index_sequence<Number...>) {
    const auto order = split_order(size_of(dataset), seed);
    const auto opened = std::make_shared<opened_once>();
    const auto shared = share(std::move(dataset));
    using part = split_part<typename decltype(shared)::element_type>;
    std::uint64_t end = 0;
    return std::array<part, sizeof...(Number)>{
        part(shared, split_choice(order, std::exchange(end, end + sizes[Number]), sizes[Number]),
             opened)...};
}

}  // namespace detail

/// Splits a dataset into parts that share no sample and leave none out, at random:
///
///     auto [train, val] = stoker::random_split(read_digits("digits.csv"), {0.8, 0.2}, 7);
///     auto [train, val] = stoker::random_split(dataset, {1400, 397}, 7);
///
/// `parts` are fractions, which sum to 1, or counts, which sum to the dataset's size; otherwise
/// error{invalid_option} names the sum. Fractions count as in PyTorch: each part has the whole
/// samples of its fraction, and what is left goes to the parts in turn, one sample each; so a part
/// can be empty. Which samples, and their order in a part, follows from `seed` alone. The order is
/// computed, never stored: a split takes no memory.
///
/// The dataset is moved or copied in, once, and the parts share it. Each is a dataset of its own,
/// which is used as the whole is; open() runs once in each process, whichever part asks first.
///
/// Thread safety: a part counts as the dataset that it shares: loaders without workers use the
/// parts of one split on one thread at a time. Workers have their own copies.
template <class Dataset, class Number, std::size_t Count>
    requires(std::floating_point<Number> || detail::index_value<Number>)
auto random_split(Dataset dataset, const Number (&parts)[Count], std::uint64_t seed = 0) {
    if constexpr (detail::check_dataset<Dataset>::value) {
        const std::uint64_t size = detail::size_of(dataset);
        std::vector<std::uint64_t> sizes;
        if constexpr (std::floating_point<Number>) {
            const std::vector<double> fractions(std::begin(parts), std::end(parts));
            sizes =
                detail::split_sizes(fractions, sizeof(Number) < sizeof(double) ? 1e-6 : 1e-9, size);
        } else {
            std::vector<index> counts;
            for (const Number count : parts)
                counts.push_back(detail::to_index(count));
            sizes = detail::split_sizes(counts, size);
        }
        return detail::split(std::move(dataset), sizes, seed, std::make_index_sequence<Count>());
    }
}

}  // namespace stoker
