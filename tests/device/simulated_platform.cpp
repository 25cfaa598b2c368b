// The traps: what code under test must not do is found out, and a copy reads when it runs.

#include "device/simulated_platform.hpp"

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "device/device_rig.hpp"

using namespace device_rig;

namespace {

struct bench {
    explicit bench(simulation how = late()) : platform(how) {
        REQUIRE(table.create_stream(&stream, 0, 0) == 0);
        void* made = nullptr;
        REQUIRE(table.allocate(&made, 4096) == 0);
        memory = static_cast<std::byte*>(made);
    }
    ~bench() { table.destroy_stream(stream); }
    bench(const bench&) = delete;
    bench& operator=(const bench&) = delete;

    /// Keeps the stream busy until `open`.
    void close_gate() {
        platform.enqueue(stream, [this] {
            while (!open.load())
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
        });
    }
    int upload(const void* from, std::size_t bytes) {
        return table.copy_on(memory, from, bytes, cuda_flag::copy_host_to_device, stream);
    }

    simulated_platform platform;
    const cuda_table& table = simulated_platform::table();
    cuda_stream stream = nullptr;
    std::byte* memory = nullptr;
    std::atomic<bool> open{false};
};

}  // namespace

TEST_CASE("a copy reads its source when it runs, not when it is asked for") {
    bench rig;
    std::vector<std::byte> source(4096, std::byte{1});
    rig.close_gate();
    REQUIRE(rig.upload(source.data(), source.size()) == 0);
    std::memset(source.data(), 2, source.size());
    rig.open = true;
    REQUIRE(rig.table.synchronize_stream(rig.stream) == 0);
    CHECK(rig.memory[0] == std::byte{2});
    CHECK(rig.platform.traffic().pageable_copies == 1);
    CHECK(rig.platform.traffic().host_to_device_bytes == 4096);
}

TEST_CASE("fresh device memory holds nothing that anybody could mistake for data") {
    const bench rig;
    CHECK(rig.memory[17] == std::byte{0xA5});
}

TEST_CASE("memory is not to be unregistered or freed while a copy uses it") {
    bench rig;
    std::vector<std::byte> source(4096);
    REQUIRE(rig.table.register_host(source.data(), source.size(), 0) == 0);
    rig.close_gate();
    REQUIRE(rig.upload(source.data(), source.size()) == 0);
    CHECK(rig.table.unregister_host(source.data()) == 0);
    REQUIRE(rig.platform.violations().size() == 1);
    CHECK(contains(rig.platform.violations()[0], "cudaHostUnregister of memory that a copy"));
    rig.open = true;
    REQUIRE(rig.table.synchronize_stream(rig.stream) == 0);
    CHECK(rig.table.deallocate(rig.memory) == 0);
    CHECK(rig.platform.violations().size() == 1);
}

TEST_CASE("a copy that spans pinned and plain memory is refused") {
    bench rig;
    std::vector<std::byte> source(4096);
    REQUIRE(rig.table.register_host(source.data(), 2048, 0) == 0);
    CHECK(rig.upload(source.data(), 4096) == cuda_code::invalid_value);
    CHECK(rig.platform.violations().size() == 1);
    CHECK(rig.upload(source.data(), 2048) == cuda_code::success);
    CHECK(rig.table.synchronize_stream(rig.stream) == 0);
    CHECK(rig.table.unregister_host(source.data()) == 0);
}

TEST_CASE("a call from a stream's own thread is found out") {
    bench rig;
    rig.platform.enqueue(rig.stream, [&] {
        cuda_event made = nullptr;
        rig.table.create_event(&made, 0);
    });
    std::vector<std::string> found;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (found.empty() && std::chrono::steady_clock::now() < end)
        found = rig.platform.violations();
    REQUIRE(found.size() == 1);
    CHECK(contains(found[0], "cudaEventCreateWithFlags was called on a stream's own thread"));
}
