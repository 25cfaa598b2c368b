// The program's own malloc wins over the C library's, for libstdc++ and Boost too, and hands over
// to the C library's under its other name. An untaken branch is all it costs while it is off, so
// timed stretches run with the same program.
#include "support/allocations.hpp"

#include <atomic>
#include <cerrno>
#include <cstddef>

namespace {

std::atomic<bool> counting{false};
std::atomic<std::uint64_t> count{0};

void note() noexcept {
    if (counting.load(std::memory_order_relaxed))
        count.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

extern "C" {

void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t size) noexcept {
    note();
    return __libc_malloc(size);
}

void* calloc(std::size_t items, std::size_t size) noexcept {
    note();
    return __libc_calloc(items, size);
}

void* realloc(void* old, std::size_t size) noexcept {
    note();
    return __libc_realloc(old, size);
}

void* memalign(std::size_t alignment, std::size_t size) noexcept {
    note();
    return __libc_memalign(alignment, size);
}

void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
    note();
    return __libc_memalign(alignment, size);
}

int posix_memalign(void** result, std::size_t alignment, std::size_t size) noexcept {
    note();
    auto* memory = __libc_memalign(alignment, size);
    if (memory == nullptr)
        return ENOMEM;
    *result = memory;
    return 0;
}

void bench_count_allocations(int on) {
    counting.store(on != 0, std::memory_order_relaxed);
}
std::uint64_t bench_allocations() {
    return count.load(std::memory_order_relaxed);
}

}  // extern "C"
