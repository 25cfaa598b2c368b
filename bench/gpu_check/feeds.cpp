// What a feed does: how much of its copies steps hide, whether every batch is what it should be,
// and how long a training loop's device waits.

#include <algorithm>
#include <cstring>
#include <utility>

#include <stoker/dataset/row.hpp>
#include <stoker/device/device_feed.hpp>
#include <stoker/device/prepare.hpp>
#include <stoker/loader/loader.hpp>
#include <stoker/tensor/f16.hpp>
#include <stoker/tensor/tensor.hpp>
#include "gpu_check/check_kernels.hpp"
#include "gpu_check/machine.hpp"

namespace gpu_check {

namespace {

struct block {
    stoker::tensor<std::uint8_t, 256, 256> bytes;
};

/// Costs the host nothing, so that the device is all that is measured.
struct blocks {
    std::size_t samples = 0;
    std::size_t size() const { return samples; }
    void read(stoker::index, stoker::row<block>) const {}
};

struct words {
    stoker::tensor<std::uint32_t, words_a_sample> values;
    std::int64_t label;
};

struct numbered_words {
    std::size_t samples = 0;
    std::size_t size() const { return samples; }
    void read(stoker::index sample, stoker::row<words> row) const {
        auto* const values = row[&words::values].data();
        for (std::size_t place = 0; place < words_a_sample; ++place)
            values[place] = word_of(sample, place);
        row[&words::label] = static_cast<std::int64_t>(sample);
    }
};

struct image {
    stoker::tensor<std::uint8_t, 224, 224, 3> pixels;
};

struct device_image {
    stoker::tensor<stoker::f16, 3, 224, 224> pixels;
};

struct images {
    std::size_t samples = 0;
    std::size_t size() const { return samples; }
    void read(stoker::index sample, stoker::row<image> row) const {
        std::memset(row[&image::pixels].data(), static_cast<int>(sample & 0xFF), 224 * 224 * 3);
    }
};

/// An epoch with a step of `step` on each batch; its seconds.
template <class Feed>
double epoch_seconds(const machine& here, Feed& feed, cuda_stream compute, spin_job step,
                     bool one_by_one, int expected) {
    int batches = 0;
    const auto start = bench::clock::now();
    while (auto batch = feed.next_blocking()) {
        static_cast<void>(batch.on(compute));
        here.launch(call_of(step), compute);
        if (one_by_one)
            here.wait_for(compute);
        ++batches;
    }
    here.wait_for(compute);
    const double taken = bench::seconds_since(start);
    if (batches != expected)
        bench::fail("a batch is missing");
    return taken;
}

}  // namespace

/// Steps as long as copies, one epoch to warm up and one that is measured.
void check_overlap(const request& given, bool one_by_one) {
    const int batches = given.quick ? 20 : 300;
    const int batch_size = given.quick ? 16 : 256;  // 1 or 16 MiB
    const std::size_t bytes = static_cast<std::size_t>(batch_size) * sizeof(block);
    stoker::loader loader{blocks{static_cast<std::size_t>(batches * batch_size)},
                          {.batch_size = batch_size,
                           .num_workers = one_by_one ? 0 : 2,
                           .prefetch_factor = 4,
                           .epochs = 2}};
    const machine here(given);
    const stream compute(here);
    double copy = 0;
    {
        const registered_pages pages(here, bytes);
        const device_memory there(here, bytes);
        copy = median_seconds(here, compute.handle, 20, [&] {
            here.copy(there.data, pages.data, bytes, cuda_flag::copy_host_to_device,
                      compute.handle);
        });
    }
    const spin_job step{static_cast<std::uint64_t>(copy * 1e9)};
    const double taken_by_step = median_seconds(
        here, compute.handle, 20, [&] { here.launch(call_of(step), compute.handle); });
    stoker::device_feed feed{std::move(loader), here.target()};
    epoch_seconds(here, feed, compute.handle, step, one_by_one, batches);
    const double taken = epoch_seconds(here, feed, compute.handle, step, one_by_one, batches);
    const char* const arm = one_by_one ? "serial" : "stoker";
    std::printf("%s\n", feed.stats().text().c_str());
    here.report("overlap", arm, "epoch_over_max", taken / (batches * std::max(copy, taken_by_step)),
                "ratio");
    here.report("overlap", arm, "copy_ms", copy * 1e3, "ms");
    here.report("overlap", arm, "step_ms", taken_by_step * 1e3, "ms");
}

/// Slots and buffers are used again all the time; every word of every batch is looked at, there.
void check_reuse(const request& given) {
    const int epochs = given.quick ? 4 : 100;
    const int batches = given.quick ? 50 : 1000;
    const int batch_size = 16;
    stoker::loader loader{numbered_words{static_cast<std::size_t>(batches * batch_size)},
                          {.batch_size = batch_size, .num_workers = 4, .epochs = epochs}};
    const machine here(given);
    const stream compute(here);
    const device_memory counter(here, sizeof(unsigned long long));
    const pinned_memory count(here, sizeof(unsigned long long));
    std::memset(count.data, 0, sizeof(unsigned long long));
    here.copy(counter.data, count.data, sizeof(unsigned long long), cuda_flag::copy_host_to_device,
              compute.handle);
    stoker::device_feed feed{std::move(loader), here.target()};
    int seen = 0;
    for (int epoch = 0; epoch < epochs; ++epoch) {
        while (auto batch = feed.next_blocking()) {
            const auto on = batch.on(compute.handle);
            compare_job job;
            job.words = on[&words::values].data();
            job.labels = on[&words::label].data();
            job.rows = batch.size();
            job.first = static_cast<std::uint64_t>(seen % batches) * batch_size;
            job.bad = reinterpret_cast<unsigned long long*>(counter.data);
            here.launch(call_of(job), compute.handle);
            ++seen;
        }
    }
    here.copy(count.data, counter.data, sizeof(unsigned long long), cuda_flag::copy_device_to_host,
              compute.handle);
    here.wait_for(compute.handle);
    unsigned long long bad = 0;
    std::memcpy(&bad, count.data, sizeof bad);
    std::printf("%s\n", feed.stats().text().c_str());
    here.report("gpu_check", "stoker", "reuse_batches", seen, "batches");
    here.report("gpu_check", "stoker", "reuse_bad_words", static_cast<double>(bad), "words");
    if (seen != epochs * batches || bad != 0)
        bench::fail("batches arrived wrong on the device, or not at all");
}

/// Images that become numbers on the device, and steps of 5 ms.
void check_waits(const request& given) {
    const int batches = given.quick ? 10 : 300;
    const int batch_size = given.quick ? 2 : 64;
    stoker::loader loader{images{static_cast<std::size_t>(batches * batch_size)},
                          {.batch_size = batch_size,
                           .num_workers = given.quick ? 2 : 4,
                           .prefetch_factor = 4,
                           .epochs = 2}};
    const machine here(given);
    const stream compute(here);
    const spin_job step{5'000'000};
    const double taken_by_step = median_seconds(
        here, compute.handle, 10, [&] { here.launch(call_of(step), compute.handle); });
    stoker::device_feed feed{
        std::move(loader), here.target(),
        stoker::prepare(&image::pixels, &device_image::pixels,
                        stoker::normalize{{0.485F, 0.456F, 0.406F}, {0.229F, 0.224F, 0.225F}})};
    epoch_seconds(here, feed, compute.handle, step, false, batches);
    const double taken = epoch_seconds(here, feed, compute.handle, step, false, batches);
    here.report("gpu_check", "stoker", "device_wait_share",
                std::max(0.0, 1 - batches * taken_by_step / taken), "ratio");
}

}  // namespace gpu_check
