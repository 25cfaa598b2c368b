#pragma once

#include <array>
#include <cstddef>
#include <iterator>
#include <ranges>
#include <span>
#include <utility>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include <stoker/core/index.hpp>
#include <stoker/dataset/batch_context.hpp>
#include <stoker/dataset/context.hpp>
#include <stoker/dataset/dataset.hpp>
#include <stoker/dataset/row.hpp>

namespace stoker::detail {

/// A sample, with a row that is the sample itself.
template <class Sample>
class readable_sample {
  public:
    readable_sample() { point_into(made, places_.data()); }
    readable_sample(const readable_sample&) = delete;
    readable_sample& operator=(const readable_sample&) = delete;

    row<Sample> place() const { return row<Sample>(places_.data(), 0); }

    Sample made{};

  private:
    std::array<std::byte*, inline_columns<Sample>()> places_{};
};

/// One sample of a dataset that is neither batched nor waits: a reference into it, or a sample of
/// its own. `c` may be null when the dataset uses no context.
template <class Dataset>
decltype(auto) take_sample(Dataset& dataset, index i, [[maybe_unused]] context* c) {
    using access = dataset_access<Dataset>;
    if constexpr (access::reads) {
        readable_sample<typename dataset_traits<Dataset>::sample> read;
        if constexpr (access::uses_context) {
            access::read(dataset, i, read.place(), *c);
        } else {
            access::read(dataset, i, read.place());
        }
        return typename dataset_traits<Dataset>::sample(std::move(read.made));
    } else if constexpr (access::uses_context) {
        return access::get(dataset, i, *c);
    } else {
        return access::get(dataset, i);
    }
}

/// The same of a dataset that may wait; all arguments live until it ends.
template <class Dataset>
boost::asio::awaitable<typename dataset_traits<Dataset>::sample> take_awaited(
    Dataset& dataset, index i, [[maybe_unused]] context* c) {
    using access = dataset_access<Dataset>;
    using sample = typename dataset_traits<Dataset>::sample;
    if constexpr (!access::waits) {
        co_return take_sample(dataset, i, c);
    } else if constexpr (access::reads) {
        readable_sample<sample> read;
        const row<sample> place = read.place();
        if constexpr (access::uses_context) {
            co_await access::read(dataset, i, place, *c);
        } else {
            co_await access::read(dataset, i, place);
        }
        co_return std::move(read.made);
    } else if constexpr (access::uses_context) {
        sample made = co_await access::get(dataset, i, *c);
        co_return made;
    } else {
        sample made = co_await access::get(dataset, i);
        co_return made;
    }
}

/// A batched dataset's samples, as it gives them; a coroutine for them when it waits.
template <class Dataset>
decltype(auto) take_batch(Dataset& dataset, std::span<const index> indices,
                          [[maybe_unused]] const batch_context* c) {
    using access = dataset_access<Dataset>;
    if constexpr (access::uses_context) {
        return access::get_batch(dataset, indices, *c);
    } else {
        return access::get_batch(dataset, indices);
    }
}

/// Throws error{collate_failed}: a batched get() gave another number of samples than it was asked.
[[noreturn]] void throw_wrong_batch(std::size_t wanted, std::size_t given);

template <class Samples>
void require_count(const Samples& samples, std::size_t wanted) {
    const auto given = static_cast<std::size_t>(std::ranges::size(samples));
    if (given != wanted)
        throw_wrong_batch(wanted, given);
}

/// The samples of a batched dataset that may wait; all arguments live until it ends.
template <class Dataset>
boost::asio::awaitable<std::vector<typename dataset_traits<Dataset>::sample>> take_batch_awaited(
    Dataset& dataset, std::span<const index> indices, const batch_context* c) {
    using samples = std::vector<typename dataset_traits<Dataset>::sample>;
    const auto moved = [&](auto& given) {
        require_count(given, indices.size());
        return samples(std::make_move_iterator(std::ranges::begin(given)),
                       std::make_move_iterator(std::ranges::end(given)));
    };
    if constexpr (dataset_access<Dataset>::waits) {
        auto pending = take_batch(dataset, indices, c);
        auto given = co_await std::move(pending);
        samples all = moved(given);
        co_return all;
    } else {
        auto given = take_batch(dataset, indices, c);
        samples all = moved(given);
        co_return all;
    }
}

}  // namespace stoker::detail
