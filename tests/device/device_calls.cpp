#include "device/device_calls.hpp"

#include "device/device_rig.hpp"

using namespace device_rig;
using stoker::detail::device_scope;

TEST_CASE("a call that fails is named with its device, purpose, text and code") {
    const simulated_platform platform(quick());
    const device_calls calls(simulated_device());
    const stoker::error failed = error_of(
        [&] { calls.check(cuda_code::illegal_address, "cudaMemcpyAsync", "batch 3 of epoch 0"); });
    CHECK(failed.code() == stoker::errc::device_failed);
    CHECK(contains(failed.text(),
                   "cudaMemcpyAsync failed on simulated device 0 for batch 3 of epoch 0: "));
    CHECK(contains(failed.text(), "(cudaErrorIllegalAddress, 700)"));
}

TEST_CASE("memory that runs out comes with what to do about it") {
    const simulated_platform platform(quick());
    const device_calls calls(simulated_device());
    const stoker::error failed =
        error_of([&] { calls.check(cuda_code::out_of_memory, "cudaMalloc", "64 bytes"); });
    CHECK(contains(failed.remedy(), "batch_size"));
}

TEST_CASE("a scope has its device and its mode of capture, and puts back the caller's") {
    simulation how = quick();
    how.devices = 2;
    const simulated_platform platform(how);
    const cuda_table& table = simulated_platform::table();
    REQUIRE(table.set_device(0) == 0);
    int mode = -1;
    {
        const device_calls calls(simulated_device(1));
        const device_scope scope(calls);
        int ordinal = -1;
        CHECK(table.get_device(&ordinal) == 0);
        CHECK(ordinal == 1);
        mode = cuda_flag::capture_mode_thread_local;
        table.exchange_capture_mode(&mode);
        CHECK(mode == cuda_flag::capture_mode_thread_local);
    }
    int ordinal = -1;
    CHECK(table.get_device(&ordinal) == 0);
    CHECK(ordinal == 0);
    mode = cuda_flag::capture_mode_global;
    table.exchange_capture_mode(&mode);
    CHECK(mode == cuda_flag::capture_mode_global);
    CHECK_FALSE(platform.touched(0));
}
