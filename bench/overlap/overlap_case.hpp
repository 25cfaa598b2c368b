#pragma once
// One epoch over a simulated device whose copies take as long as its steps, so that what does not
// overlap takes twice the time, whatever this machine is like.

#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

#include <stoker/dataset/row.hpp>
#include <stoker/device/device_feed.hpp>
#include <stoker/loader/loader.hpp>
#include <stoker/tensor/tensor.hpp>
#include "device/simulated_platform.hpp"
#include "support/measurement.hpp"

namespace bench {

constexpr int overlap_batches = 150;
constexpr int overlap_batch_size = 16;
constexpr std::chrono::milliseconds half{10};

struct overlap_sample {
    stoker::tensor<std::uint8_t, 4096> bytes;
};

struct overlap_samples {
    std::size_t size() const { return overlap_batches * overlap_batch_size; }
    overlap_sample get(stoker::index) const { return {}; }
};

/// Runs the epoch and reports its time over the larger of total copy and total compute.
/// `one_by_one` waits for each step before it asks for the next batch; without workers nothing is
/// sent ahead.
inline void measure_overlap(bool one_by_one) {
    stoker::loader loader{overlap_samples{},
                          {.batch_size = overlap_batch_size, .num_workers = one_by_one ? 0 : 2}};
    stoker::detail::simulation how;
    how.longest_delay = std::chrono::microseconds(0);
    how.bytes_per_second = overlap_batch_size * sizeof(overlap_sample) * 1000 / half.count();
    stoker::detail::simulated_platform device(how);
    const auto& table = stoker::detail::simulated_platform::table();
    stoker::device_feed feed{std::move(loader), stoker::device(table, 0)};
    stoker::detail::cuda_stream compute = nullptr;
    if (table.create_stream(&compute, 0, 0) != 0)
        fail("no stream");
    int batches = 0;
    const auto start = clock::now();
    for (;;) {
        auto batch = feed.next_blocking();
        if (!batch)
            break;
        static_cast<void>(batch.on(compute));
        device.enqueue(
            compute, [] {}, half);
        if (one_by_one)
            table.synchronize_stream(compute);
        ++batches;
    }
    table.synchronize_stream(compute);
    const double taken = seconds_since(start);
    table.destroy_stream(compute);
    if (batches != overlap_batches)
        fail("a batch is missing");
    const double larger = std::chrono::duration<double>(half).count() * overlap_batches;
    report("epoch_over_max", taken / larger, "ratio");
}

/// What an epoch of 64 images sends to a device, by the feed's own counter.
template <class Element>
std::uint64_t bytes_sent() {
    struct image {
        stoker::tensor<Element, 224, 224, 3> pixels;
    };
    struct images {
        std::size_t size() const { return 64; }
        void read(stoker::index, stoker::row<image>) const {}  // whatever the memory holds
    };
    stoker::loader loader{images{}, {.batch_size = 16, .num_workers = 0}};
    const stoker::detail::simulated_platform device;
    stoker::device_feed feed{std::move(loader),
                             stoker::device(stoker::detail::simulated_platform::table(), 0)};
    while (feed.next_blocking()) {
    }
    return feed.stats().copied_bytes;
}

/// Images are sent as bytes and become numbers on the device, where others send those.
inline void measure_bytes() {
    const std::uint64_t bytes = bytes_sent<std::uint8_t>();
    report("u8_bytes", static_cast<double>(bytes), "bytes");
    report("u8_over_f32_bytes",
           static_cast<double>(bytes) / static_cast<double>(bytes_sent<float>()), "ratio");
}

}  // namespace bench
