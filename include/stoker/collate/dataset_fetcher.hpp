#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <ranges>
#include <type_traits>
#include <utility>
#include <vector>

#include <stoker/collate/collator.hpp>
#include <stoker/collate/column.hpp>
#include <stoker/collate/coroutine_makers.hpp>
#include <stoker/collate/fetcher.hpp>
#include <stoker/collate/sample_maker.hpp>
#include <stoker/core/index.hpp>
#include <stoker/dataset/dataset.hpp>
#include <stoker/dataset/take_sample.hpp>
#include <stoker/dataset/worker_info.hpp>

namespace stoker::detail {

/// Throws error{invalid_dataset}: the pointer to a dataset is null.
[[noreturn]] void throw_missing_dataset();
/// Throws error{invalid_dataset}: the machinery called a coroutine as a function.
[[noreturn]] void throw_coroutine_called();

/// Within a handler: throws an error that says what is in flight, and that worker_init threw it.
[[noreturn]] void throw_worker_init_failed();

/// In place of a worker_init hook.
struct no_worker_init {
    void operator()(const worker_info&) const noexcept {}
};

/// Makes batches of a dataset.
///
/// Where the layout of a batch follows from its number of samples, each sample is written to its
/// place as soon as it is made, by the dataset itself when it reads into rows, and a batch costs no
/// allocation. Otherwise samples are kept until all are there, then collated.
/// The dataset's exceptions pass through as they are.
template <class Dataset, class WorkerInit = no_worker_init,
          class Collator = default_collator<typename dataset_traits<Dataset>::sample>>
class dataset_fetcher final : public fetcher {
    using access = dataset_access<Dataset>;
    using sample = typename dataset_traits<Dataset>::sample;
    static constexpr std::size_t column_count = Collator::column_count;
    static_assert(std::is_invocable_v<WorkerInit&, const worker_info&>,
                  "stoker: worker_init is called with a stoker::worker_info");

  public:
    explicit dataset_fetcher(Dataset dataset, WorkerInit worker_init = {}, Collator collator = {})
        : dataset_(std::move(dataset)),
          worker_init_(std::move(worker_init)),
          collator_(std::move(collator)) {
        if (pointed_dataset<Dataset>::missing(dataset_))
            throw_missing_dataset();
    }

    std::uint64_t size() const override { return access::size(dataset_); }
    const schema& columns() const override { return collator_.columns(); }

    void open(int worker, int num_workers, std::uint64_t seed) override {
        try {
            std::invoke(worker_init_, worker_info{worker, num_workers, seed});
        } catch (...) {
            throw_worker_init_failed();
        }
        if constexpr (access::opens && !access::waits_to_open)
            access::open(dataset_);
    }

    std::uint64_t fetch(const fetch_task& task, batch_memory& memory, column_record* records,
                        fetch_monitor& monitor) override {
        if constexpr (access::waits) {
            throw_coroutine_called();
        } else if constexpr (access::batched) {
            return fetch_batch(task, memory, records, monitor);
        } else if constexpr (Collator::fixed) {
            return fetch_in_place(task, memory, records, monitor);
        } else {
            return fetch_then_collate(task, memory, records, monitor);
        }
    }

    bool waits() const override { return access::waits || access::waits_to_open; }

    boost::asio::awaitable<void> async_open(int worker, int num_workers,
                                            std::uint64_t seed) override {
        open(worker, num_workers, seed);
        if constexpr (access::waits_to_open)
            co_await access::open(dataset_);
    }

    boost::asio::awaitable<std::uint64_t> async_fetch(const fetch_task& task, batch_memory& memory,
                                                      column_record* records,
                                                      fetch_monitor& monitor,
                                                      const fetch_limits& limits) override {
        if constexpr (!access::waits) {
            co_return fetch(task, memory, records, monitor);
        } else if constexpr (access::batched) {
            whole_batch<Dataset> batch(dataset_, task);
            co_await make_samples(task, std::min<std::size_t>(task.indices.size(), 1), batch,
                                  monitor, limits);
            monitor.begin_collate();
            co_return collate(batch.made, task, memory, records);
        } else if constexpr (Collator::fixed) {
            const std::size_t samples = task.indices.size();
            const std::uint64_t bytes = columns().lay_out(samples, records);
            rows_in_place<Dataset, Collator> rows(dataset_, collator_, task, memory.data(bytes),
                                                  records);
            co_await make_samples(task, samples, rows, monitor, limits);
            co_return bytes;
        } else {
            samples_apart<Dataset> apart(dataset_, task);
            co_await make_samples(task, task.indices.size(), apart, monitor, limits);
            std::vector<sample> made = apart.take();
            monitor.begin_collate();
            co_return collate(made, task, memory, records);
        }
    }

  private:
    std::uint64_t fetch_in_place(const fetch_task& task, batch_memory& memory,
                                 column_record* records, fetch_monitor& monitor) {
        const std::size_t samples = task.indices.size();
        const std::uint64_t bytes = columns().lay_out(samples, records);
        const auto starts = column_starts<column_count>(memory.data(bytes), records);
        for (std::size_t i = 0; i < samples && !monitor.abandoned(); ++i) {
            monitor.begin_sample(task.indices[i]);
            with_context(task, i, [&](auto&... context) {
                if constexpr (access::reads) {
                    access::read(dataset_, task.indices[i], row<sample>(starts.data(), i),
                                 context...);
                } else {
                    const sample& made = access::get(dataset_, task.indices[i], context...);
                    collator_.store(made, starts.data(), i);
                }
            });
        }
        return bytes;
    }

    std::uint64_t fetch_then_collate(const fetch_task& task, batch_memory& memory,
                                     column_record* records, fetch_monitor& monitor) {
        const std::size_t samples = task.indices.size();
        std::vector<sample> made;
        made.reserve(samples);
        for (std::size_t i = 0; i < samples; ++i) {
            if (monitor.abandoned())
                return 0;
            monitor.begin_sample(task.indices[i]);
            with_context(task, i, [&](auto&... context) {
                if constexpr (access::reads) {
                    readable_sample<sample> one;
                    access::read(dataset_, task.indices[i], one.place(), context...);
                    made.push_back(std::move(one.made));
                } else {
                    made.push_back(access::get(dataset_, task.indices[i], context...));
                }
            });
        }
        monitor.begin_collate();
        return collate(made, task, memory, records);
    }

    std::uint64_t fetch_batch(const fetch_task& task, batch_memory& memory, column_record* records,
                              fetch_monitor& monitor) {
        if (!task.indices.empty())
            monitor.begin_batch(task.indices.front());
        auto made = with_batch_context(task, [&](const auto&... context) {
            return access::get_batch(dataset_, task.indices, context...);
        });
        monitor.begin_collate();
        return collate(made, task, memory, records);
    }

    /// Samples that are all there; any sized range of them.
    template <class Samples>
    std::uint64_t collate(Samples& made, const fetch_task& task, batch_memory& memory,
                          column_record* records) {
        const auto count = static_cast<std::size_t>(std::ranges::size(made));
        if (count != task.indices.size())
            throw_wrong_batch(task.indices.size(), count);
        if constexpr (Collator::fixed) {
            const std::uint64_t bytes = columns().lay_out(count, records);
            const auto starts = column_starts<column_count>(memory.data(bytes), records);
            std::uint64_t number = 0;
            for (const sample& each : made)
                collator_.store(each, starts.data(), number++);
            return bytes;
        } else if constexpr (std::is_same_v<Samples, std::vector<sample>>) {
            return collator_.collate(made, task.indices, memory, records);
        } else {
            std::vector<sample> apart(std::make_move_iterator(std::ranges::begin(made)),
                                      std::make_move_iterator(std::ranges::end(made)));
            return collator_.collate(apart, task.indices, memory, records);
        }
    }

    /// Calls `make` with sample i's context when the dataset uses one, else with nothing.
    template <class Make>
    static void with_context(const fetch_task& task, std::size_t i, Make&& make) {
        if constexpr (access::uses_context) {
            context c = context_of(task, i);
            make(c);
        } else {
            make();
        }
    }
    template <class Make>
    static auto with_batch_context(const fetch_task& task, Make&& make) {
        if constexpr (access::uses_context) {
            return make(batch_context_of(task));
        } else {
            return make();
        }
    }

    // A dataset's size() may be non-const; that of a fetcher is const for main's sake.
    mutable Dataset dataset_;
    WorkerInit worker_init_;
    Collator collator_;
};

/// The fetcher of a dataset, which is moved or copied in. Throws error{invalid_dataset} when it is
/// a null pointer; what is no dataset does not compile, and says why. Without a collator it is the
/// default one.
template <class Dataset, class WorkerInit = no_worker_init, class... Collator>
std::unique_ptr<fetcher> make_fetcher(Dataset dataset, WorkerInit worker_init = {},
                                      Collator... collator) {
    if constexpr (check_dataset<Dataset>::value) {
        return std::make_unique<dataset_fetcher<Dataset, WorkerInit, Collator...>>(
            std::move(dataset), std::move(worker_init), std::move(collator)...);
    } else {
        return nullptr;
    }
}

}  // namespace stoker::detail
