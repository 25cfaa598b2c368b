// Where there is no toolkit every call says so, and so does what users see.

#include <stoker/device/device.hpp>
#include "device/device_rig.hpp"

using namespace device_rig;

TEST_CASE("a library without CUDA says so when it is asked for a GPU") {
    CHECK(stoker::cuda_device_count() == 0);
    const stoker::error refused = error_of([] { stoker::cuda_device(0); });
    CHECK(refused.code() == stoker::errc::no_device);
    CHECK(contains(refused.what(), "built without CUDA's toolkit"));
    CHECK(contains(refused.remedy(), "host_device"));
}

TEST_CASE("every call of the absent table fails") {
    const cuda_table& table = stoker::detail::real_cuda_table();
    void* memory = nullptr;
    CHECK(table.allocate(&memory, 16) == cuda_code::stub_library);
    CHECK(memory == nullptr);
    cuda_stream stream = nullptr;
    CHECK(table.create_stream(&stream, 0, 0) == cuda_code::stub_library);
    CHECK(table.launch({}, stream) == cuda_code::stub_library);
}
