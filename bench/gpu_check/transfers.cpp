// What the bus and the kernels do, without a feed.

#include <cstring>
#include <vector>

#include "device/prepare_call.hpp"
#include "device/prepare_on_host.hpp"
#include "gpu_check/machine.hpp"

namespace gpu_check {

namespace {

constexpr std::size_t mib = 1 << 20;

/// Whether the device gives back what it was sent.
void check_bytes(const machine& here, cuda_stream on, const device_memory& there,
                 const std::byte* sent, std::size_t bytes) {
    const pinned_memory back(here, bytes);
    here.copy(there.data, sent, bytes, cuda_flag::copy_host_to_device, on);
    here.copy(back.data, there.data, bytes, cuda_flag::copy_device_to_host, on);
    here.wait_for(on);
    if (std::memcmp(back.data, sent, bytes) != 0)
        bench::fail("registered pages of a memfd arrived wrong on the device");
}

void check_size(const machine& here, std::size_t megabytes) {
    const std::size_t bytes = megabytes * mib;
    const stream on(here);
    const device_memory there(here, bytes);
    const int count = static_cast<int>(std::max<std::size_t>(4, 256 / megabytes / 2));
    const std::string size = std::to_string(megabytes) + "mib";
    const auto measure = [&](const char* arm, const std::byte* from) {
        const double taken = median_seconds(here, on.handle, count, [&] {
            here.copy(there.data, from, bytes, cuda_flag::copy_host_to_device, on.handle);
        });
        here.report("gpu_check", arm, "h2d_" + size, static_cast<double>(bytes) / taken / 1e9,
                    "GB/s");
    };
    {
        const registered_pages pages(here, bytes);
        check_bytes(here, on.handle, there, pages.data, bytes);
        measure("registered", pages.data);
        here.report("gpu_check", "registered", "register_" + size, pages.register_seconds * 1e3,
                    "ms");
    }
    {
        const pinned_memory pinned(here, bytes);
        std::memset(pinned.data, 1, bytes);
        measure("host_alloc", pinned.data);
    }
    const std::vector<std::byte> pageable(bytes, std::byte{1});
    measure("pageable", pageable.data());
}

/// A batch of images as it becomes numbers, and how long a copy that moves as many bytes takes.
void check_type(const machine& here, stoker::dtype type, const char* name, std::uint32_t samples) {
    stoker::detail::image_job job;
    job.samples = samples;
    job.source_height = job.source_width = 256;
    job.height = job.width = 224;
    job.common_top = job.common_left = 16;
    job.channels = job.target_channels = 3;
    job.channels_first = true;
    job.type = type;
    for (int channel = 0; channel < 3; ++channel) {
        job.multiply[channel] = 0.0173F;
        job.add[channel] = -2.1F + static_cast<float>(channel);
    }
    const std::size_t pixels = std::size_t{samples} * 224 * 224 * 3;
    const std::size_t source_bytes = std::size_t{samples} * 256 * 256 * 3;
    const std::size_t target_bytes = pixels * stoker::size_of(type);

    std::vector<std::uint8_t> source(source_bytes);
    for (std::size_t i = 0; i < source.size(); ++i)
        source[i] = static_cast<std::uint8_t>(i * 2654435761U >> 11);
    const stream on(here);
    const device_memory from(here, source_bytes);
    const device_memory to(here, target_bytes);
    here.copy(from.data, source.data(), source_bytes, cuda_flag::copy_host_to_device, on.handle);
    here.wait_for(on.handle);
    stoker::detail::image_job there = job;
    there.source = reinterpret_cast<const std::uint8_t*>(from.data);
    there.target = to.data;
    const double taken = median_seconds(
        here, on.handle, 20, [&] { here.launch(stoker::detail::call_of(there), on.handle); });

    const auto aligned = [](std::size_t bytes) {
        return std::vector<std::max_align_t>(bytes / sizeof(std::max_align_t) + 1);
    };
    std::vector<std::max_align_t> expected = aligned(target_bytes);
    job.source = source.data();
    job.target = expected.data();
    stoker::detail::prepare_on_host(job);
    const pinned_memory found(here, target_bytes);
    here.copy(found.data, to.data, target_bytes, cuda_flag::copy_device_to_host, on.handle);
    here.wait_for(on.handle);
    if (std::memcmp(found.data, expected.data(), target_bytes) != 0)
        bench::fail("a prepared batch is not, bit for bit, what the host makes of it");

    const std::size_t moved = pixels + target_bytes;
    const device_memory first(here, moved / 2);
    const device_memory second(here, moved / 2);
    const double copied = median_seconds(here, on.handle, 20, [&] {
        here.copy(second.data, first.data, moved / 2, cuda_flag::copy_device_to_device, on.handle);
    });
    const std::string metric = std::string("prepare_") + name;
    here.report("gpu_check", "stoker", metric, static_cast<double>(moved) / taken / 1e9, "GB/s");
    here.report("gpu_check", "stoker", metric + "_over_copy", copied / taken, "ratio");
}

}  // namespace

void check_copies(const request& given) {
    const machine here(given);
    for (const std::size_t megabytes :
         given.quick ? std::vector<std::size_t>{1} : std::vector<std::size_t>{1, 16, 64, 256})
        check_size(here, megabytes);
}

void check_kernels(const request& given) {
    const machine here(given);
    const std::uint32_t samples = given.quick ? 2 : 256;
    check_type(here, stoker::dtype::f32, "f32", samples);
    check_type(here, stoker::dtype::f16, "f16", samples);
    check_type(here, stoker::dtype::bf16, "bf16", samples);
}

}  // namespace gpu_check
