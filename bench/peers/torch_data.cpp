// LibTorch's torch::data as an arm: threads where the others have processes. The same work: samples
// are views of one preallocated tensor, which its Stack collate copies once. Intra-op threads are
// off, as in PyTorch's workers: the loader's own threads are the parallelism that is compared.
#include <torch/torch.h>

#include <cstring>
#include <optional>

#include "epoch_gap/slow_samples.hpp"
#include "ready_next/rhythm.hpp"
#include "startup/held_data.hpp"
#include "support/allocations.hpp"
#include "support/measurement.hpp"
#include "support/samples.hpp"

namespace {

using torch::data::TensorExample;
using stack = torch::data::transforms::Stack<TensorExample>;

/// Samples of a pool as views of its memory, which outlives them.
class pool_view : public torch::data::datasets::Dataset<pool_view, TensorExample> {
  public:
    pool_view(const bench::pool& from, std::size_t size, bool slow)
        : from_(&from), size_(size), slow_(slow) {}

    TensorExample get(std::size_t index) override {
        if (slow_)
            bench::fetch_slowly(index);
        auto* bytes = const_cast<std::byte*>(from_->sample(index));
        return torch::from_blob(bytes, {static_cast<std::int64_t>(from_->sample_bytes())},
                                torch::kUInt8);
    }
    torch::optional<std::size_t> size() const override { return size_; }

  private:
    const bench::pool* from_;
    std::size_t size_;
    bool slow_;
};

class held_view : public torch::data::datasets::Dataset<held_view, TensorExample> {
  public:
    explicit held_view(const bench::held_data& from) : from_(&from) {}

    TensorExample get(std::size_t index) override {
        const auto sample = from_->get(index);
        auto result = torch::empty({2}, torch::kInt64);
        std::memcpy(result.data_ptr(), &sample, sizeof sample);
        return result;
    }
    torch::optional<std::size_t> size() const override { return from_->size(); }

  private:
    const bench::held_data* from_;
};

template <class Dataset>
auto make_loader(Dataset dataset, int batch_size, int workers, int prefetch) {
    return torch::data::make_data_loader<torch::data::samplers::SequentialSampler>(
        std::move(dataset).map(stack()),
        torch::data::DataLoaderOptions(static_cast<std::size_t>(batch_size))
            .workers(static_cast<std::size_t>(workers))
            .max_jobs(static_cast<std::size_t>(workers * prefetch)));
}

/// Checks one word of every sample of the batches, in order.
class checker {
  public:
    explicit checker(const bench::pool& pool) : pool_(&pool) {}
    void operator()(const TensorExample& batch) {
        const auto* bytes = static_cast<const std::uint8_t*>(batch.data.data_ptr());
        const auto samples = batch.data.size(0);
        for (std::int64_t item = 0; item < samples; ++item) {
            const auto* sample = bytes + static_cast<std::size_t>(item) * pool_->sample_bytes();
            if (!pool_->matches(next_++, sample))
                bench::fail("torch_data: wrong data");
        }
    }

  private:
    const bench::pool* pool_;
    std::uint64_t next_ = 0;
};

void transport(bool small, bool count) {
    const auto pool = small ? bench::small_pool() : bench::image_pool();
    auto loader =
        make_loader(pool_view(pool, bench::epoch_samples, false),
                    small ? bench::small_batch_size : bench::image_batch_size, 2, small ? 16 : 2);
    auto batch = loader->begin();
    checker check(pool);
    const std::uint64_t events = small ? 1000 : 100;
    const auto take = [&] {
        check(*batch);
        ++batch;
    };
    if (count) {
        for (int i = 0; i < 50; ++i)
            take();
        const bench::marked_stretch stretch("syscalls_per_batch", events);
        for (std::uint64_t i = 0; i < events; ++i)
            take();
        return;
    }
    bench::throughput measured(small ? 16 : 1);
    do
        take();
    while (measured.another() && batch != loader->end());
    bench::report("batches_per_s", measured.per_second(), "1/s");
    bench_count_allocations(1);
    for (std::uint64_t i = 0; i < events; ++i)
        take();
    bench_count_allocations(0);
    bench::report("allocations_per_batch",
                  static_cast<double>(bench_allocations()) / static_cast<double>(events), "calls");
}

void ready_next() {
    const auto pool = bench::small_pool();
    auto loader =
        make_loader(pool_view(pool, bench::epoch_samples, false), bench::small_batch_size, 2, 16);
    auto batch = loader->begin();
    checker check(pool);
    std::vector<double> microseconds;
    for (int call = 0; call < bench::ready_calls; ++call) {
        check(*batch);
        bench::spin(bench::ready_step);
        const auto start = bench::clock::now();
        ++batch;
        microseconds.push_back(bench::seconds_since(start) * 1e6);
    }
    bench::report("p50_us", bench::percentile(microseconds, 50), "us");
    bench::report("p99_us", bench::percentile(microseconds, 99), "us");
}

void startup(std::string_view test_case) {
    const bench::startup_case start(test_case);
    const bench::held_data data(start.held_bytes);
    const auto begin = bench::clock::now();
    auto loader = make_loader(held_view(data), bench::small_batch_size, start.workers, 2);
    auto batch = loader->begin();
    const auto first = batch->data;
    bench::report("first_batch_ms", bench::seconds_since(begin) * 1e3, "ms");
    const auto* words = static_cast<const std::uint64_t*>(first.data_ptr());
    for (std::uint64_t index = 0; index < bench::small_batch_size; ++index) {
        if (!bench::held_data::matches(start.held_bytes, index, words[2 * index]))
            bench::fail("torch_data: wrong data");
    }
}

void epoch_gap() {
    const auto pool = bench::small_pool();
    auto loader = make_loader(pool_view(pool, bench::gap_epoch_samples, true),
                              bench::small_batch_size, bench::gap_workers, 2);
    bench::gap_recorder recorder;
    for (int epoch = 0; epoch < bench::gap_epochs; ++epoch) {
        checker check(pool);
        for (auto& batch : *loader) {
            recorder.delivered(epoch);
            check(batch);
        }
    }
    recorder.report();
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3)
        bench::fail("usage: torch_data BENCH CASE [--count]");
    const std::string_view name = argv[1];
    const bench::arguments arguments({argv + 1, static_cast<std::size_t>(argc - 1)});
    torch::set_num_threads(1);
    if (name == "transport") {
        transport(arguments.test_case == "small", arguments.count);
    } else if (name == "ready_next") {
        ready_next();
    } else if (name == "startup") {
        startup(arguments.test_case);
    } else if (name == "epoch_gap") {
        epoch_gap();
    } else {
        bench::fail("unknown benchmark");
    }
}
