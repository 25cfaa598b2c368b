// Messages need no allocation: every one of this program is counted. A sanitizer puts its own
// operators in the same place, so that its builds leave this program out.

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "ipc/queue_pair.hpp"
#include "support/catch.hpp"

using namespace stoker::detail;
using namespace stoker::test_support;

namespace {

std::atomic<std::uint64_t> allocations{0};

}  // namespace

void* operator new(std::size_t bytes) {
    allocations.fetch_add(1, std::memory_order_relaxed);
    if (void* const memory = std::malloc(bytes))
        return memory;
    throw std::bad_alloc{};
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
    allocations.fetch_add(1, std::memory_order_relaxed);
    return std::malloc(bytes);
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}

TEST_CASE("messages need no allocation", "[ipc]") {
    both_sides pair;
    task_message task;
    result_message result;
    bool all_done = true;
    const std::uint64_t before = allocations.load();
    for (int i = 0; i < 100; ++i) {
        all_done = pair.sends_tasks.try_send({}) == attempt::done && all_done;
        all_done = pair.takes_tasks.try_receive(task) == attempt::done && all_done;
        all_done = pair.sends_results.try_send({}) == attempt::done && all_done;
        all_done = pair.takes_results.try_receive(result) == attempt::done && all_done;
        pair.takes_results.try_receive(result);
    }
    const std::uint64_t after = allocations.load();
    CHECK(all_done);
    CHECK(after == before);
}
