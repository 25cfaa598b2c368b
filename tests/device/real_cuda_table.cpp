// The real runtime, linked statically: the same binary has to say clearly what it lacks on a
// machine without a GPU, and to work on one with it.

#include <stoker/device/device.hpp>
#include "device/device_rig.hpp"

using namespace device_rig;

TEST_CASE("the runtime tells its version with and without a driver") {
    int version = 0;
    CHECK(stoker::detail::real_cuda_table().runtime_version(&version) == cuda_code::success);
    CHECK(version >= 12000);
}

TEST_CASE("without a GPU the error names what is missing, and both versions") {
    int count = 0;
    const cuda_table& table = stoker::detail::real_cuda_table();
    const int code = table.device_count(&count);
    if (code == cuda_code::success) {
        CHECK(stoker::cuda_device_count() == count);
        CHECK(stoker::cuda_device(0).name() == "CUDA device 0");
        return;
    }
    static_cast<void>(table.take_last_error());
    CHECK(stoker::detail::means_no_device(code));
    CHECK(stoker::cuda_device_count() == 0);
    const stoker::error refused = error_of([] { stoker::cuda_device(0); });
    CHECK(refused.code() == stoker::errc::no_device);
    CHECK(contains(refused.what(), "no CUDA driver"));
    CHECK(contains(refused.what(), "stoker was built with CUDA"));
}

TEST_CASE("a kernel that was not built is an error of its launch") {
    CHECK(stoker::detail::real_cuda_table().launch({}, nullptr) != cuda_code::success);
}
