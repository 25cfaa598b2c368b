#pragma once

#include <array>
#include <cstddef>
#include <iterator>
#include <optional>
#include <ranges>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include <stoker/collate/collator.hpp>
#include <stoker/collate/fetcher.hpp>
#include <stoker/collate/sample_maker.hpp>
#include <stoker/core/index.hpp>
#include <stoker/dataset/batch_context.hpp>
#include <stoker/dataset/context.hpp>
#include <stoker/dataset/dataset.hpp>
#include <stoker/dataset/row.hpp>
#include <stoker/dataset/take_sample.hpp>

namespace stoker::detail {

inline context context_of(const fetch_task& task, std::size_t number) {
    return context(task.seed, task.epoch, task.position(number), task.worker, task.num_workers);
}
inline batch_context batch_context_of(const fetch_task& task) {
    return batch_context(task.seed, task.epoch, task.first_position, task.worker, task.num_workers,
                         task.numbers);
}

/// Samples of a fixed layout, by coroutines: each is written to its row when it is there. Arguments
/// are kept by reference, here and below.
template <class Dataset, class Collator>
class rows_in_place final : public sample_maker {
    using access = dataset_access<Dataset>;
    using sample = typename dataset_traits<Dataset>::sample;

  public:
    rows_in_place(Dataset& dataset, const Collator& collator, const fetch_task& task,
                  std::byte* data, const column_record* records)
        : dataset_(dataset),
          collator_(collator),
          task_(task),
          starts_(column_starts<Collator::column_count>(data, records)) {}

    boost::asio::awaitable<void> make(std::size_t number) override {
        const index i = task_.indices[number];
        [[maybe_unused]] context c = context_of(task_, number);
        if constexpr (access::reads) {
            const row<sample> place(starts_.data(), number);
            if constexpr (access::uses_context) {
                co_await access::read(dataset_, i, place, c);
            } else {
                co_await access::read(dataset_, i, place);
            }
        } else if constexpr (access::uses_context) {
            const sample made = co_await access::get(dataset_, i, c);
            collator_.store(made, starts_.data(), number);
        } else {
            const sample made = co_await access::get(dataset_, i);
            collator_.store(made, starts_.data(), number);
        }
    }

  private:
    Dataset& dataset_;
    const Collator& collator_;
    const fetch_task& task_;
    std::array<std::byte*, Collator::column_count> starts_;
};

/// Samples of other layouts, by coroutines: they wait for each other.
template <class Dataset>
class samples_apart final : public sample_maker {
    using access = dataset_access<Dataset>;
    using sample = typename dataset_traits<Dataset>::sample;

  public:
    samples_apart(Dataset& dataset, const fetch_task& task)
        : dataset_(dataset), task_(task), made_(task.indices.size()) {}

    boost::asio::awaitable<void> make(std::size_t number) override {
        const index i = task_.indices[number];
        [[maybe_unused]] context c = context_of(task_, number);
        // Named first: g++ 12 destroys a temporary aggregate beside a co_await twice.
        if constexpr (access::reads) {
            readable_sample<sample> one;
            if constexpr (access::uses_context) {
                co_await access::read(dataset_, i, one.place(), c);
            } else {
                co_await access::read(dataset_, i, one.place());
            }
            made_[number].emplace(std::move(one.made));
        } else if constexpr (access::uses_context) {
            sample one = co_await access::get(dataset_, i, c);
            made_[number].emplace(std::move(one));
        } else {
            sample one = co_await access::get(dataset_, i);
            made_[number].emplace(std::move(one));
        }
    }
    /// All of them, once they are made.
    std::vector<sample> take() {
        std::vector<sample> all;
        all.reserve(made_.size());
        for (auto& each : made_)
            all.push_back(std::move(*each));
        return all;
    }

  private:
    Dataset& dataset_;
    const fetch_task& task_;
    std::vector<std::optional<sample>> made_;
};

/// One coroutine makes the whole batch.
template <class Dataset>
class whole_batch final : public sample_maker {
    using access = dataset_access<Dataset>;
    using sample = typename dataset_traits<Dataset>::sample;

  public:
    whole_batch(Dataset& dataset, const fetch_task& task) : dataset_(dataset), task_(task) {}

    boost::asio::awaitable<void> make(std::size_t) override {
        [[maybe_unused]] const batch_context c = batch_context_of(task_);
        if constexpr (access::uses_context) {
            auto all = co_await access::get_batch(dataset_, task_.indices, c);
            take(all);
        } else {
            auto all = co_await access::get_batch(dataset_, task_.indices);
            take(all);
        }
    }

    bool makes_all() const override { return true; }

    std::vector<sample> made;

  private:
    template <class Samples>
    void take(Samples& all) {
        if constexpr (std::is_same_v<Samples, std::vector<sample>>) {
            made = std::move(all);
        } else {
            made.assign(std::make_move_iterator(std::ranges::begin(all)),
                        std::make_move_iterator(std::ranges::end(all)));
        }
    }

    Dataset& dataset_;
    const fetch_task& task_;
};

}  // namespace stoker::detail
