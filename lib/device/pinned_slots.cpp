#include "device/pinned_slots.hpp"

#include <string>

#include <stoker/core/error.hpp>

namespace stoker::detail {

pinned_slots::pinned_slots(const device_calls& calls, const engine& loader, bool wanted)
    : calls_(calls), slots_(loader.slots()) {
    // Of a layout that the samples decide nothing is known but where it begins.
    if (!wanted || calls.synchronous() || slots_.known_bytes == 0)
        return;
    loader.populate_slots();
    registered_.reserve(slots_.slot_count);
    for (std::uint64_t slot = 0; slot < slots_.slot_count; ++slot) {
        std::byte* const begin = slots_.base + slot * slots_.slot_bytes;
        const int code =
            calls_.table().register_host(begin, slots_.known_prefix, cuda_flag::host_portable);
        if (code == cuda_code::success) {
            registered_.push_back(begin);
            continue;
        }
        try {
            calls_.fail(code, "cudaHostRegister", "a slot of the loader");
        } catch (const error& failure) {
            refusal_ = failure.text();
        }
        unregister();
        return;
    }
}

pinned_slots::~pinned_slots() {
    unregister();
}

void pinned_slots::unregister() noexcept {
    for (std::byte* const begin : registered_)
        static_cast<void>(calls_.table().unregister_host(begin));
    registered_.clear();
}

}  // namespace stoker::detail
