#include <stoker/device/device.hpp>

#include "device/device_rig.hpp"

using namespace device_rig;

namespace {

/// Samples that use a device where none can be used.
struct cuda_in_get {
    std::size_t size() const { return 8; }
    int get(stoker::index) const { return stoker::cuda_device(0).ordinal(); }
};

struct device_from_main {
    stoker::device made;
    std::size_t size() const { return 8; }
    int get(stoker::index) const {
        made.require_own_process();
        return 0;
    }
};

template <class Dataset>
stoker::error first_error(Dataset dataset) {
    stoker::loader loader{std::move(dataset), {.batch_size = 2, .num_workers = 1}};
    return error_of([&] { loader.next_blocking(); });
}

}  // namespace

TEST_CASE("a worker that asks for CUDA is told the rule [B163]") {
    const stoker::error refused = first_error(cuda_in_get{});
    INFO(refused.what());
    CHECK(contains(refused.what(), "CUDA does not survive a fork"));
    CHECK(contains(refused.what(), "workers never call it"));
}

TEST_CASE("a device of the training process is of no use in a worker [B163]") {
    const simulated_platform platform(quick());
    const stoker::error refused = first_error(device_from_main{simulated_device()});
    CHECK(contains(refused.what(), "simulated device 0 cannot be used in process"));
    CHECK(contains(refused.what(), "CUDA does not survive a fork"));
}

TEST_CASE("a process that has asked for CUDA loads samples that need none [B163]") {
    static_cast<void>(stoker::cuda_device_count());
    stoker::loader loader{word_dataset{16},
                          {.batch_size = 4, .num_workers = 2, .fork_with_threads = true}};
    int batches = 0;
    for (auto& batch : loader)
        batches += batch[&words::label][0] == static_cast<std::int64_t>(batch.indices()[0]);
    CHECK(batches == 4);
}

TEST_CASE("devices have names") {
    CHECK(stoker::host_device().name() == "host");
    CHECK(stoker::host_device().is_host());
    CHECK(simulated_device(3).name() == "simulated device 3");
    CHECK(simulated_device(3).ordinal() == 3);
    CHECK_FALSE(simulated_device().is_host());
}

TEST_CASE("a device that is not there is refused") {
    CHECK(error_of([] { stoker::cuda_device(-1); }).code() == stoker::errc::no_device);
    CHECK(error_of([] { stoker::cuda_device(4096); }).code() == stoker::errc::no_device);
}
