// Faults and captures of the simulated machine.

#include <thread>

#include "device/device_rig.hpp"

using namespace device_rig;

TEST_CASE("the nth call of an entry fails, as often as was asked") {
    simulated_platform platform(quick());
    const cuda_table& table = simulated_platform::table();
    platform.fail("cudaMalloc", cuda_code::out_of_memory, 1, 2);
    void* memory = nullptr;
    CHECK(table.allocate(&memory, 16) == cuda_code::success);
    CHECK(table.allocate(&memory, 16) == cuda_code::out_of_memory);
    CHECK(table.allocate(&memory, 16) == cuda_code::out_of_memory);
    CHECK(table.allocate(&memory, 16) == cuda_code::success);
}

TEST_CASE("after a sticky fault every call gives its code") {
    simulated_platform platform(quick());
    const cuda_table& table = simulated_platform::table();
    platform.fail("cudaMalloc", cuda_code::illegal_address, 0, 1, true);
    void* memory = nullptr;
    CHECK(table.allocate(&memory, 16) == cuda_code::illegal_address);
    cuda_event made = nullptr;
    CHECK(table.create_event(&made, 0) == cuda_code::illegal_address);
    CHECK(made == nullptr);
}

TEST_CASE("an unsafe call of any thread in global mode breaks a capture in global mode") {
    simulated_platform platform(quick());
    const cuda_table& table = simulated_platform::table();
    cuda_stream stream = nullptr;
    REQUIRE(table.create_stream(&stream, 0, 0) == 0);
    std::thread capturing([&] { platform.begin_capture(stream, cuda_flag::capture_mode_global); });
    capturing.join();
    void* memory = nullptr;
    int mode = cuda_flag::capture_mode_thread_local;
    table.exchange_capture_mode(&mode);
    CHECK(table.allocate(&memory, 16) == cuda_code::success);
    table.exchange_capture_mode(&mode);
    CHECK(table.allocate(&memory, 16) == cuda_code::capture_unsupported);
    CHECK_FALSE(platform.end_capture(stream));
}

TEST_CASE("without a machine there is no device") {
    int count = 7;
    CHECK(simulated_platform::table().device_count(&count) == cuda_code::no_device);
    CHECK(count == 7);
}
