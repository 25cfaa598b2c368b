// What a channel allocates once it runs: nothing. Asio takes memory by aligned_alloc and keeps it
// for each thread, so all of malloc is counted, by standing in front of glibc's. Sanitizers stand
// there themselves; their builds leave this program without cases.
#include <cstddef>
#include <cstdint>
#include <utility>

#include <stoker/runtime/channel.hpp>

#include "runtime/running.hpp"
#include "support/catch.hpp"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define STOKER_COUNTS_ALLOCATIONS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define STOKER_COUNTS_ALLOCATIONS 0
#endif
#endif
#ifndef STOKER_COUNTS_ALLOCATIONS
#define STOKER_COUNTS_ALLOCATIONS 1
#endif

#if STOKER_COUNTS_ALLOCATIONS

namespace asio = boost::asio;

namespace {

std::atomic<long> allocations = 0;

}  // namespace

extern "C" {

void* __libc_malloc(std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);

void* malloc(std::size_t size) noexcept {
    ++allocations;
    return __libc_malloc(size);
}

void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
    ++allocations;
    return __libc_memalign(alignment, size);
}

}  // extern "C"

TEST_CASE("the steady state allocates nothing", "[runtime]") {
    long first = 0;
    long last = 0;
    const auto produce = [](stoker::sender<std::uint64_t> tx) -> asio::awaitable<void> {
        for (std::uint64_t number = 0; number < 20'000; ++number) {
            auto permit = co_await tx.reserve();
            permit.send(number);
        }
    };
    const auto consume = [&]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        auto [tx, rx] = stoker::channel<std::uint64_t>(executor, 2);
        asio::co_spawn(executor, produce(std::move(tx)), stoker::rethrow);
        while (auto message = co_await rx.receive()) {
            if (*message == 10'000)
                first = allocations;
            if (*message == 19'000)
                last = allocations;
        }
    };
    // run(), for each call of run_for() handles one handler and drops the memory that Asio keeps.
    asio::io_context io;
    asio::co_spawn(io, consume, stoker::rethrow);
    io.run();
    REQUIRE(first > 0);
    CHECK(last - first == 0);
}

TEST_CASE("allocations are counted at all", "[runtime]") {
    const long before = allocations;
    const asio::io_context io;
    CHECK(allocations > before);
}

#endif
