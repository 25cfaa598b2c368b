#include "device/pinned_slots.hpp"

#include <memory>

#include "device/device_rig.hpp"

using namespace device_rig;
using stoker::detail::engine;
using stoker::detail::pinned_slots;

namespace {

std::shared_ptr<engine> make_loader() {
    stoker::loader loader{word_dataset{}, {.batch_size = 8}};
    return loader_access::take(std::move(loader));
}

}  // namespace

TEST_CASE("each slot's known part is registered, and given back before the slots go") {
    const simulated_platform platform(quick());
    const device_calls calls(simulated_device());
    auto loader = make_loader();
    auto pins = std::make_unique<pinned_slots>(calls, *loader, true);
    loader->close();
    loader.reset();  // the pins own a share of the memory
    CHECK(pins->any());
    CHECK(platform.leftovers() == pins->slots().slot_count);
    CHECK(pins->bytes() == pins->slots().slot_count * pins->slots().known_prefix);
    CHECK(pins->covers(pins->slots().known_bytes));
    CHECK_FALSE(pins->covers(pins->slots().known_prefix));
    CHECK(pins->slots().base[0] == std::byte{});  // mapped
    pins.reset();
    CHECK(platform.leftovers() == 0);
}

TEST_CASE("where one slot is refused none stays registered, and the call is named") {
    simulated_platform platform(quick());
    const device_calls calls(simulated_device());
    const auto loader = make_loader();
    platform.fail("cudaHostRegister", cuda_code::not_supported, 1);
    const pinned_slots pins(calls, *loader, true);
    CHECK_FALSE(pins.any());
    CHECK_FALSE(pins.covers(1));
    CHECK(platform.leftovers() == 0);
    CHECK(contains(pins.refusal(), "cudaHostRegister"));
    CHECK(contains(pins.refusal(), "801"));
    loader->close();
}

TEST_CASE("the host device and those who do not want it pin nothing") {
    const simulated_platform platform(quick());
    const auto loader = make_loader();
    const device_calls host(stoker::host_device());
    CHECK_FALSE(pinned_slots(host, *loader, true).any());
    const device_calls calls(simulated_device());
    const pinned_slots unwanted(calls, *loader, false);
    CHECK_FALSE(unwanted.any());
    CHECK(unwanted.refusal().empty());
    loader->close();
}
