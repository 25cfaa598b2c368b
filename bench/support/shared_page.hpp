#pragma once

#include <sys/mman.h>

#include <new>

#include "support/measurement.hpp"

namespace bench {

/// A `Value` that every process forked later shares with this one. Never unmapped: a worker may
/// write to it until the very end.
template <class Value>
Value& shared_page() {
    auto* memory =
        ::mmap(nullptr, sizeof(Value), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        fail("no shared memory");
    return *::new (memory) Value{};
}

}  // namespace bench
