#include "device/bounce_ring.hpp"

#include "device/device_rig.hpp"

using namespace device_rig;
using stoker::detail::bounce_ring;

TEST_CASE("bounce buffers are lent once each") {
    const simulated_platform platform(quick());
    const device_calls calls(simulated_device());
    bounce_ring ring(calls, 2);
    REQUIRE(ring.allocate(4096));
    CHECK(ring.bytes() == 8192);
    const int first = ring.acquire();
    const int second = ring.acquire();
    CHECK(first != second);
    CHECK_FALSE(ring.any_free());
    CHECK(ring.acquire() == -1);
    ring.give_back(first);
    CHECK(ring.any_free());
    CHECK(ring.acquire() == first);
}

TEST_CASE("a bounce buffer grows for a batch, with room to spare") {
    const simulated_platform platform(quick());
    const device_calls calls(simulated_device());
    bounce_ring ring(calls, 1);
    REQUIRE(ring.allocate(0));
    CHECK(ring.bytes() == 0);
    const int only = ring.acquire();
    const std::byte* const memory = ring.memory(only, 1000);
    CHECK(memory != nullptr);
    CHECK(ring.memory(only, 1400) == memory);
    CHECK(ring.bytes() == 1500);
    CHECK(ring.memory(only, 4000) != nullptr);
    CHECK(ring.bytes() == 6000);
}

TEST_CASE("pinned memory that cannot be had leaves nothing behind, and says why") {
    simulated_platform platform(quick());
    const device_calls calls(simulated_device());
    bounce_ring ring(calls, 3);
    platform.fail("cudaHostAlloc", cuda_code::out_of_memory, 1);
    CHECK_FALSE(ring.allocate(4096));
    CHECK(platform.leftovers() == 0);
    CHECK(ring.bytes() == 0);
    CHECK(contains(ring.refusal(), "cudaHostAlloc failed"));
    CHECK(ring.is_refused());
    CHECK(ring.allocate(4096));
    CHECK_FALSE(ring.is_refused());
}
