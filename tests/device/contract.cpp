// What stoker relies on CUDA for, held against every table there is: the simulated device, and the
// real one where there is a GPU. So a GPU validates the simulation that stands in for it elsewhere.

#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include <stoker/device/device.hpp>
#include "device/cuda_table.hpp"
#include "device/simulated_platform.hpp"
#include "support/catch.hpp"

using namespace stoker::detail;

namespace {

/// A table with what it needs to live.
struct subject {
    std::unique_ptr<simulated_platform> platform{};
    const cuda_table* table = nullptr;

    bool real() const { return platform == nullptr; }
};

std::vector<subject> subjects() {
    std::vector<subject> all;
    all.push_back({std::make_unique<simulated_platform>(), &simulated_platform::table()});
    if (stoker::cuda_device_count() > 0)
        all.push_back({nullptr, &real_cuda_table()});
    return all;
}

/// Runs the same checks against each table, with the device set.
template <class Checks>
void for_each_table(Checks&& checks) {
    for (subject& each : subjects()) {
        INFO("table: " << each.table->kind);
        REQUIRE(each.table->set_device(0) == cuda_code::success);
        checks(*each.table);
        if (each.platform)
            CHECK(each.platform->leftovers() == 0);
    }
}

struct stream {
    explicit stream(const cuda_table& with) : table(with) {
        REQUIRE(table.create_stream(&handle, cuda_flag::stream_non_blocking, 0) == 0);
    }
    ~stream() { table.destroy_stream(handle); }
    stream(const stream&) = delete;
    stream& operator=(const stream&) = delete;
    const cuda_table& table;
    cuda_stream handle = nullptr;
};

struct event {
    explicit event(const cuda_table& with, unsigned flags = cuda_flag::event_disable_timing)
        : table(with) {
        REQUIRE(table.create_event(&handle, flags) == 0);
    }
    ~event() { table.destroy_event(handle); }
    event(const event&) = delete;
    event& operator=(const event&) = delete;
    const cuda_table& table;
    cuda_event handle = nullptr;
};

struct device_memory {
    device_memory(const cuda_table& with, std::size_t bytes) : table(with) {
        void* made = nullptr;
        REQUIRE(table.allocate(&made, bytes) == 0);
        data = static_cast<std::byte*>(made);
    }
    ~device_memory() { table.deallocate(data); }
    device_memory(const device_memory&) = delete;
    device_memory& operator=(const device_memory&) = delete;
    const cuda_table& table;
    std::byte* data = nullptr;
};

struct pinned_memory {
    pinned_memory(const cuda_table& with, std::size_t bytes) : table(with) {
        void* made = nullptr;
        REQUIRE(table.allocate_host(&made, bytes, 0) == 0);
        data = static_cast<std::byte*>(made);
    }
    ~pinned_memory() { table.deallocate_host(data); }
    pinned_memory(const pinned_memory&) = delete;
    pinned_memory& operator=(const pinned_memory&) = delete;
    const cuda_table& table;
    std::byte* data = nullptr;
};

/// A mapping of a memfd, as the loader's slots are.
struct shared_pages {
    explicit shared_pages(std::size_t size) : bytes(size) {
        const int file = ::memfd_create("stoker-contract", MFD_CLOEXEC);
        REQUIRE(::ftruncate(file, static_cast<off_t>(bytes)) == 0);
        void* const at =
            ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0);
        REQUIRE(at != MAP_FAILED);
        data = static_cast<std::byte*>(at);
        ::close(file);
    }
    ~shared_pages() { ::munmap(data, bytes); }
    shared_pages(const shared_pages&) = delete;
    shared_pages& operator=(const shared_pages&) = delete;
    std::size_t bytes;
    std::byte* data = nullptr;
};

constexpr std::size_t page = 4096;

void upload(const cuda_table& table, stream& on, std::byte* to, const std::byte* from,
            std::size_t bytes) {
    REQUIRE(table.copy_on(to, from, bytes, cuda_flag::copy_host_to_device, on.handle) == 0);
}

void download(const cuda_table& table, stream& on, std::byte* to, const std::byte* from,
              std::size_t bytes) {
    REQUIRE(table.copy_on(to, from, bytes, cuda_flag::copy_device_to_host, on.handle) == 0);
}

}  // namespace

TEST_CASE("an event that was never recorded counts as done") {
    for_each_table([](const cuda_table& table) {
        const event never(table);
        const stream on(table);
        CHECK(table.query_event(never.handle) == cuda_code::success);
        CHECK(table.synchronize_event(never.handle) == cuda_code::success);
        CHECK(table.wait_event(on.handle, never.handle, 0) == cuda_code::success);
        CHECK(table.synchronize_stream(on.handle) == cuda_code::success);
    });
}

TEST_CASE("a stream does what it is told in order") {
    for_each_table([](const cuda_table& table) {
        stream on(table);
        device_memory middle(table, page);
        pinned_memory from(table, page);
        pinned_memory to(table, page);
        for (int round = 0; round < 20; ++round) {
            std::memset(from.data, round, page);
            upload(table, on, middle.data, from.data, page);
            download(table, on, to.data, middle.data, page);
            REQUIRE(table.synchronize_stream(on.handle) == cuda_code::success);
            CHECK(std::to_integer<int>(to.data[page - 1]) == round);
        }
    });
}

TEST_CASE("a stream that waits for an event sees what was done before its record") {
    for_each_table([](const cuda_table& table) {
        stream first(table);
        stream second(table);
        event between(table);
        device_memory middle(table, page);
        pinned_memory from(table, page);
        pinned_memory to(table, page);
        for (int round = 1; round < 20; ++round) {
            std::memset(from.data, round, page);
            upload(table, first, middle.data, from.data, page);
            REQUIRE(table.record_event(between.handle, first.handle) == 0);
            REQUIRE(table.wait_event(second.handle, between.handle, 0) == 0);
            download(table, second, to.data, middle.data, page);
            REQUIRE(table.synchronize_stream(second.handle) == 0);
            CHECK(std::to_integer<int>(to.data[0]) == round);
        }
    });
}

TEST_CASE("a wait is for the record that was the last when it was asked for") {
    for_each_table([](const cuda_table& table) {
        stream first(table);
        stream second(table);
        stream third(table);
        event reused(table);
        event gate(table);
        device_memory place(table, page);
        pinned_memory from(table, page);
        REQUIRE(table.record_event(reused.handle, first.handle) == 0);
        REQUIRE(table.synchronize_stream(first.handle) == 0);
        REQUIRE(table.wait_event(second.handle, reused.handle, 0) == 0);
        // A later record, behind `second` itself: were that wait for it, both would wait for ever.
        upload(table, second, place.data, from.data, page);
        REQUIRE(table.record_event(gate.handle, second.handle) == 0);
        REQUIRE(table.wait_event(third.handle, gate.handle, 0) == 0);
        REQUIRE(table.record_event(reused.handle, third.handle) == 0);
        CHECK(table.synchronize_stream(second.handle) == 0);
        CHECK(table.synchronize_stream(third.handle) == 0);
    });
}

TEST_CASE("a thread waits for an event that blocks, and sees the copy") {
    for_each_table([](const cuda_table& table) {
        stream on(table);
        event done(table, cuda_flag::event_disable_timing | cuda_flag::event_blocking_sync);
        device_memory middle(table, page);
        pinned_memory from(table, page);
        pinned_memory to(table, page);
        std::memset(from.data, 7, page);
        upload(table, on, middle.data, from.data, page);
        download(table, on, to.data, middle.data, page);
        REQUIRE(table.record_event(done.handle, on.handle) == 0);
        REQUIRE(table.synchronize_event(done.handle) == 0);
        CHECK(table.query_event(done.handle) == 0);
        CHECK(std::to_integer<int>(to.data[5]) == 7);
    });
}

TEST_CASE("pages of a memfd are registered once, and not twice") {
    for_each_table([](const cuda_table& table) {
        shared_pages pages(8 * page);
        REQUIRE(table.register_host(pages.data, 4 * page, cuda_flag::host_portable) == 0);
        CHECK(table.register_host(pages.data, 4 * page, 0) ==
              cuda_code::host_memory_already_registered);
        static_cast<void>(table.take_last_error());
        stream on(table);
        device_memory middle(table, 4 * page);
        pinned_memory to(table, 4 * page);
        std::memset(pages.data, 9, 4 * page);
        upload(table, on, middle.data, pages.data, 4 * page);
        download(table, on, to.data, middle.data, 4 * page);
        REQUIRE(table.synchronize_stream(on.handle) == 0);
        CHECK(std::to_integer<int>(to.data[4 * page - 1]) == 9);
        CHECK(table.unregister_host(pages.data) == 0);
        CHECK(table.unregister_host(pages.data) == cuda_code::host_memory_not_registered);
        static_cast<void>(table.take_last_error());
    });
}

TEST_CASE("nothing cannot be registered") {
    for_each_table([](const cuda_table& table) {
        shared_pages pages(page);
        CHECK(table.register_host(pages.data, 0, 0) == cuda_code::invalid_value);
        static_cast<void>(table.take_last_error());
    });
}

TEST_CASE("memory is got and given back in a stream's order") {
    for_each_table([](const cuda_table& table) {
        stream on(table);
        pinned_memory from(table, page);
        pinned_memory to(table, page);
        std::memset(from.data, 3, page);
        void* made = nullptr;
        REQUIRE(table.allocate_on(&made, page, on.handle) == 0);
        auto* const memory = static_cast<std::byte*>(made);
        upload(table, on, memory, from.data, page);
        download(table, on, to.data, memory, page);
        REQUIRE(table.deallocate_on(made, on.handle) == 0);
        REQUIRE(table.synchronize_stream(on.handle) == 0);
        CHECK(std::to_integer<int>(to.data[0]) == 3);
    });
}

TEST_CASE("a stream that is not captured says so, and threads switch their mode of capture") {
    for_each_table([](const cuda_table& table) {
        const stream on(table);
        int status = -1;
        REQUIRE(table.capture_status(on.handle, &status) == 0);
        CHECK(status == cuda_flag::capture_none);
        int mode = cuda_flag::capture_mode_thread_local;
        REQUIRE(table.exchange_capture_mode(&mode) == 0);
        CHECK(mode == cuda_flag::capture_mode_global);
        REQUIRE(table.exchange_capture_mode(&mode) == 0);
        CHECK(mode == cuda_flag::capture_mode_thread_local);
    });
}

TEST_CASE("devices beyond the last are refused") {
    for_each_table([](const cuda_table& table) {
        int count = 0;
        REQUIRE(table.device_count(&count) == 0);
        CHECK(table.set_device(count) == cuda_code::invalid_device);
        static_cast<void>(table.take_last_error());
    });
}

TEST_CASE("the streams that nobody makes are there, the per-thread one on each thread anew") {
    for_each_table([](const cuda_table& table) {
        cuda_event done = nullptr;
        REQUIRE(table.create_event(&done, cuda_flag::event_disable_timing) == 0);
        for (const cuda_stream stream : {cuda_stream{}, legacy_stream(), per_thread_stream()}) {
            int status = 7;
            CHECK(table.capture_status(stream, &status) == 0);
            CHECK(status == cuda_flag::capture_none);
            CHECK(table.record_event(done, stream) == 0);
            CHECK(table.wait_event(stream, done, 0) == 0);
            CHECK(table.synchronize_stream(stream) == 0);
            CHECK(table.query_event(done) == 0);
        }
        stream slow(table);
        std::vector<unsigned char> host(1 << 20);
        void* memory = nullptr;
        REQUIRE(table.allocate(&memory, host.size()) == 0);
        CHECK(table.copy_on(memory, host.data(), host.size(), cuda_flag::copy_host_to_device,
                            slow.handle) == 0);
        CHECK(table.record_event(done, slow.handle) == 0);
        CHECK(table.wait_event(per_thread_stream(), done, 0) == 0);
        std::thread([&] {  // has another one, which waits for nothing
            CHECK(table.set_device(0) == 0);
            CHECK(table.synchronize_stream(per_thread_stream()) == 0);
        })
            .join();
        CHECK(table.synchronize_stream(per_thread_stream()) == 0);
        CHECK(table.query_event(done) == 0);
        CHECK(table.deallocate(memory) == 0);
        CHECK(table.destroy_event(done) == 0);
    });
}
