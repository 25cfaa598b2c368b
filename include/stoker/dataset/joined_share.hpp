#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include <stoker/core/index.hpp>
#include <stoker/dataset/batch_context.hpp>
#include <stoker/dataset/context.hpp>
#include <stoker/dataset/dataset.hpp>
#include <stoker/dataset/take_sample.hpp>

namespace stoker::detail {

/// Which of a batch's samples one of the joined datasets has.
struct joined_share {
    std::vector<index> indices{};        ///< in that dataset
    std::vector<std::size_t> numbers{};  ///< in the batch

    void add(index own, std::size_t number) {
        indices.push_back(own);
        numbers.push_back(number);
    }
    /// How many from `first` on follow one another in the batch.
    std::size_t run(std::size_t first) const {
        std::size_t count = 1;
        while (first + count < numbers.size() && numbers[first + count] == numbers[first] + count)
            ++count;
        return count;
    }
};

/// Samples of one call: all of a share, or, where it draws random numbers by its place in the
/// batch, as many as follow one another there.
template <class D>
std::size_t samples_a_call(const joined_share& share, std::size_t first) {
    if constexpr (!dataset_access<D>::batched) {
        return 1;
    } else if constexpr (dataset_access<D>::uses_context) {
        return share.run(first);
    } else {
        return share.indices.size();
    }
}
template <class Given, class Places>
void keep(Given& samples, const joined_share& share, std::size_t first, std::size_t count,
          Places& made) {
    require_count(samples, count);
    for (auto& each : samples)
        made[share.numbers[first++]].emplace(std::move(each));
}
template <class D, class Places>
void make_share(D& each, const joined_share& share, Places& made, const batch_context* c) {
    for (std::size_t first = 0; first < share.indices.size();) {
        const std::size_t count = samples_a_call<D>(share, first);
        const std::span indices(share.indices.data() + first, count);
        const std::size_t number = share.numbers[first];
        if constexpr (dataset_access<D>::batched && dataset_access<D>::uses_context) {
            const batch_context from = c->from(number);
            auto samples = take_batch(each, indices, &from);
            keep(samples, share, first, count, made);
        } else if constexpr (dataset_access<D>::batched) {
            auto samples = take_batch(each, indices, nullptr);
            keep(samples, share, first, count, made);
        } else if constexpr (dataset_access<D>::uses_context) {
            context own = c->sample(number);
            made[number].emplace(take_sample(each, indices[0], &own));
        } else {
            made[number].emplace(take_sample(each, indices[0], nullptr));
        }
        first += count;
    }
}
template <class D, class Places>
boost::asio::awaitable<void> make_share_awaited(D& each, const joined_share& share, Places& made,
                                                const batch_context* c) {
    if constexpr (!dataset_access<D>::waits) {
        make_share(each, share, made, c);
        co_return;
    }
    for (std::size_t first = 0; first < share.indices.size();) {
        const std::size_t count = samples_a_call<D>(share, first);
        const std::span<const index> indices(share.indices.data() + first, count);
        const std::size_t number = share.numbers[first];
        if constexpr (dataset_access<D>::batched && dataset_access<D>::uses_context) {
            const batch_context from = c->from(number);
            auto samples = co_await take_batch_awaited(each, indices, &from);
            keep(samples, share, first, count, made);
        } else if constexpr (dataset_access<D>::batched) {
            auto samples = co_await take_batch_awaited(each, indices, nullptr);
            keep(samples, share, first, count, made);
        } else if constexpr (dataset_access<D>::uses_context) {
            context own = c->sample(number);
            auto one = co_await take_awaited(each, indices[0], &own);
            made[number].emplace(std::move(one));
        } else {
            auto one = co_await take_awaited(each, indices[0], nullptr);
            made[number].emplace(std::move(one));
        }
        first += count;
    }
}

}  // namespace stoker::detail
