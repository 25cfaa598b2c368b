#include "ipc/doorbell.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "core/system.hpp"

namespace stoker::detail {

doorbell doorbell::create() {
    return doorbell{system::event("a doorbell")};
}

// Both are raw calls: they run between two steps of the gate's protocol, cannot block, and have no
// failure worth a word (a full counter is readable already, an empty one is clear already).

void doorbell::ring(int number) noexcept {
    if (number < 0)
        return;
    const std::uint64_t one = 1;
    while (::write(number, &one, sizeof one) < 0 && errno == EINTR) {
    }
}

void doorbell::clear() const noexcept {
    if (number_.get() < 0)
        return;
    std::uint64_t count = 0;
    while (::read(number_.get(), &count, sizeof count) < 0 && errno == EINTR) {
    }
}

}  // namespace stoker::detail
