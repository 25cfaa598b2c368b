#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include <stoker/collate/collator.hpp>
#include <stoker/collate/column.hpp>
#include <stoker/collate/fetcher.hpp>
#include <stoker/core/index.hpp>
#include <stoker/dataset/dataset.hpp>
#include <stoker/dataset/worker_info.hpp>

namespace stoker::detail {

/// Throws error{invalid_dataset}: the pointer to a dataset is null.
[[noreturn]] void throw_missing_dataset();

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
        std::invoke(worker_init_, worker_info{worker, num_workers, seed});
        access::open(dataset_);
    }

    std::uint64_t fetch(const fetch_task& task, batch_memory& memory, column_record* records,
                        fetch_monitor& monitor) override {
        if constexpr (Collator::fixed) {
            return fetch_in_place(task, memory, records, monitor);
        } else {
            return fetch_then_collate(task, memory, records, monitor);
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
                made.push_back(access::get(dataset_, task.indices[i], context...));
            });
        }
        return collator_.collate(made, task.indices, memory, records);
    }

    /// Calls `make` with sample i's context when the dataset uses one, else with nothing.
    template <class Make>
    static void with_context(const fetch_task& task, std::size_t i, Make&& make) {
        if constexpr (access::uses_context) {
            context c(task.seed, task.epoch, task.first_position + i, task.worker,
                      task.num_workers);
            make(c);
        } else {
            make();
        }
    }

    // A dataset's size() may be non-const; that of a fetcher is const for main's sake.
    mutable Dataset dataset_;
    WorkerInit worker_init_;
    Collator collator_;
};

/// The fetcher of a dataset, which is moved or copied in. Throws error{invalid_dataset} when it is
/// a null pointer; what is no dataset does not compile, and says why.
template <class Dataset, class WorkerInit = no_worker_init>
std::unique_ptr<fetcher> make_fetcher(Dataset dataset, WorkerInit worker_init = {}) {
    if constexpr (check_dataset<Dataset>::value) {
        return std::make_unique<dataset_fetcher<Dataset, WorkerInit>>(std::move(dataset),
                                                                      std::move(worker_init));
    } else {
        return nullptr;
    }
}

}  // namespace stoker::detail
