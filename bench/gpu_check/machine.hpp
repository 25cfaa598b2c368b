#pragma once
// The device that is checked, real or not, and what is got from it.

#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <stoker/device/device.hpp>
#include "device/device_calls.hpp"
#include "device/simulated_platform.hpp"
#include "support/measurement.hpp"

namespace gpu_check {

using stoker::detail::cuda_flag;
using stoker::detail::cuda_stream;
using stoker::detail::cuda_table;
using stoker::detail::device_calls;
using stoker::detail::kernel_call;

struct request {
    std::string_view part{};
    std::string_view table = "real";
    bool quick = false;
};

/// Sets the device up for this thread. Made after loaders, which fork.
class machine {
  public:
    explicit machine(const request& given) : name_(given.table == "real" ? "gpu" : given.table) {
        if (given.table == "simulated") {
            stoker::detail::simulation how;
            how.longest_delay = std::chrono::microseconds(0);
            how.bytes_per_second = 1'000'000'000;
            platform_ = std::make_unique<stoker::detail::simulated_platform>(how);
            calls_.emplace(stoker::device(stoker::detail::simulated_platform::table(), 0));
        } else {
            calls_.emplace(given.table == "host" ? stoker::host_device() : stoker::cuda_device(0));
        }
        check(table().set_device(0), "cudaSetDevice");
    }

    const cuda_table& table() const { return calls_->table(); }
    const stoker::device& target() const { return calls_->target(); }
    void check(int code, const char* call) const { calls_->check(code, call); }
    void copy(void* to, const void* from, std::size_t bytes, int kind, cuda_stream on) const {
        check(table().copy_on(to, from, bytes, kind, on), "cudaMemcpyAsync");
    }
    void launch(const kernel_call& call, cuda_stream on) const {
        check(table().launch(call, on), call.name);
    }
    void wait_for(cuda_stream on) const {
        check(table().synchronize_stream(on), "cudaStreamSynchronize");
    }
    /// One line in the form of all benchmarks.
    void report(std::string_view bench, std::string_view arm, std::string_view metric, double value,
                std::string_view unit) const {
        std::printf(
            "{\"bench\": \"%s\", \"case\": \"%s\", \"arm\": \"%s\", \"metric\": \"%s\", "
            "\"value\": %.6g, \"unit\": \"%s\"}\n",
            std::string(bench).c_str(), name_.c_str(), std::string(arm).c_str(),
            std::string(metric).c_str(), value, std::string(unit).c_str());
        std::fflush(stdout);
    }

  private:
    std::string name_;
    std::unique_ptr<stoker::detail::simulated_platform> platform_{};
    std::optional<device_calls> calls_{};
};

struct stream {
    explicit stream(const machine& with) : made_by(with) {
        with.check(with.table().create_stream(&handle, cuda_flag::stream_non_blocking, 0),
                   "cudaStreamCreateWithPriority");
    }
    ~stream() { made_by.table().destroy_stream(handle); }
    stream(const stream&) = delete;
    stream& operator=(const stream&) = delete;
    const machine& made_by;
    cuda_stream handle = nullptr;
};

struct device_memory {
    device_memory(const machine& with, std::size_t bytes) : made_by(with) {
        void* made = nullptr;
        with.check(with.table().allocate(&made, bytes), "cudaMalloc");
        data = static_cast<std::byte*>(made);
    }
    ~device_memory() { made_by.table().deallocate(data); }
    device_memory(const device_memory&) = delete;
    device_memory& operator=(const device_memory&) = delete;
    const machine& made_by;
    std::byte* data = nullptr;
};

struct pinned_memory {
    pinned_memory(const machine& with, std::size_t bytes) : made_by(with) {
        void* made = nullptr;
        with.check(with.table().allocate_host(&made, bytes, 0), "cudaHostAlloc");
        data = static_cast<std::byte*>(made);
    }
    ~pinned_memory() { made_by.table().deallocate_host(data); }
    pinned_memory(const pinned_memory&) = delete;
    pinned_memory& operator=(const pinned_memory&) = delete;
    const machine& made_by;
    std::byte* data = nullptr;
};

/// A shared mapping of a memfd, as a loader's slots are: its first half is registered, as what is
/// known of a slot is.
class registered_pages {
  public:
    registered_pages(const machine& with, std::size_t bytes) : made_by_(with), bytes_(bytes) {
        const int file = ::memfd_create("stoker-gpu-check", MFD_CLOEXEC);
        if (file < 0 || ::ftruncate(file, static_cast<off_t>(2 * bytes)) != 0)
            bench::fail("no memfd");
        void* const at = ::mmap(nullptr, 2 * bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        ::close(file);
        if (at == MAP_FAILED)
            bench::fail("no mapping of a memfd");
        data = static_cast<std::byte*>(at);
        for (std::size_t i = 0; i < bytes; i += 512)
            data[i] = static_cast<std::byte>(i / 512);
        const auto start = bench::clock::now();
        with.check(with.table().register_host(data, bytes, cuda_flag::host_portable),
                   "cudaHostRegister");
        register_seconds = bench::seconds_since(start);
    }
    ~registered_pages() {
        made_by_.table().unregister_host(data);
        ::munmap(data, 2 * bytes_);
    }
    registered_pages(const registered_pages&) = delete;
    registered_pages& operator=(const registered_pages&) = delete;

    std::byte* data = nullptr;
    double register_seconds = 0;

  private:
    const machine& made_by_;
    std::size_t bytes_;
};

/// Seconds that one of `count` equal pieces of work takes on a stream, after one to warm up.
template <class Enqueue>
double seconds_each(const machine& with, cuda_stream on, int count, Enqueue&& enqueue) {
    enqueue();
    with.wait_for(on);
    const auto start = bench::clock::now();
    for (int i = 0; i < count; ++i)
        enqueue();
    with.wait_for(on);
    return bench::seconds_since(start) / count;
}

/// The same, the median of five.
template <class Enqueue>
double median_seconds(const machine& with, cuda_stream on, int count, Enqueue&& enqueue) {
    std::vector<double> found;
    for (int i = 0; i < 5; ++i)
        found.push_back(seconds_each(with, on, count, enqueue));
    return bench::percentile(found, 50);
}

// The parts; each throws, or ends the program, where something is wrong.
void check_host(const request& given);
void check_copies(const request& given);
void check_kernels(const request& given);
void check_overlap(const request& given, bool one_by_one);
void check_reuse(const request& given);
void check_waits(const request& given);

}  // namespace gpu_check
