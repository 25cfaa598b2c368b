#include "loader/slot_pool.hpp"

#include <poll.h>
#include <sys/stat.h>

#include <cstring>
#include <set>
#include <thread>
#include <type_traits>
#include <vector>

#include "support/catch.hpp"

using namespace stoker::detail;

static_assert(!std::is_copy_constructible_v<lease>);
static_assert(std::is_nothrow_move_constructible_v<lease>);
static_assert(std::is_nothrow_move_assignable_v<lease>);

namespace {

std::shared_ptr<slot_pool> make_pool(std::uint64_t slots, int homes) {
    schema columns;
    columns.columns.push_back(column{"value", stoker::dtype::u8, 1, {16}});
    return std::make_shared<slot_pool>(slab::create(plan_slots(slots, columns, 4, 0)),
                                       doorbell::create(), homes);
}

bool rings(const slot_pool& pool) {
    pollfd entry{pool.bell().number(), POLLIN, 0};
    return ::poll(&entry, 1, 0) == 1;
}

}  // namespace

TEST_CASE("a worker gets slots of its own home first, then those of others", "[loader]") {
    auto pool = make_pool(6, 2);
    std::set<std::uint32_t> at_home;
    for (int i = 0; i < 3; ++i)
        at_home.insert(pool->acquire(1).value());
    CHECK(at_home == std::set<std::uint32_t>{1, 3, 5});
    CHECK(pool->acquire(1).value() % 2 == 0);
    CHECK(pool->acquire(0));
    CHECK(pool->acquire(0));
    CHECK_FALSE(pool->acquire(0));
    CHECK_FALSE(pool->any_free());
}

TEST_CASE("a lease gives its slot back once, however it is moved", "[loader]") {
    auto pool = make_pool(2, 1);
    const auto first = pool->acquire(0).value();
    const auto second = pool->acquire(0).value();
    {
        lease one = pool->hand_out(pool, first);
        lease other = pool->hand_out(pool, second);
        CHECK(pool->held() == 2);
        lease moved = std::move(one);
        CHECK_FALSE(one);
        CHECK(moved.record().slot == first);
        moved = std::move(other);  // gives `first` back
        CHECK(pool->held() == 1);
        CHECK(pool->acquire(0) == first);
    }
    CHECK(pool->held() == 0);
    CHECK(pool->acquire(0) == second);
    CHECK_FALSE(pool->acquire(0));
}

TEST_CASE("a release rings only when somebody asked for it", "[loader]") {
    auto pool = make_pool(2, 1);
    { lease quiet = pool->hand_out(pool, pool->acquire(0).value()); }
    CHECK_FALSE(rings(*pool));
    {
        lease wanted = pool->hand_out(pool, pool->acquire(0).value());
        pool->want_bell();
    }
    CHECK(rings(*pool));
}

TEST_CASE("leases released on several threads lose no slot, and outlive the loader's share",
          "[loader]") {
    constexpr std::uint32_t slots = 32;
    auto pool = make_pool(slots, 3);
    for (int round = 0; round < 50; ++round) {
        std::vector<std::vector<lease>> parts(4);
        for (std::uint32_t i = 0; i < slots; ++i) {
            const auto slot = pool->acquire(static_cast<int>(i % 3));
            REQUIRE(slot);
            parts[i % 4].push_back(pool->hand_out(pool, *slot));
        }
        CHECK_FALSE(pool->any_free());
        std::vector<std::thread> threads;
        for (auto& part : parts)
            threads.emplace_back([&part] { part.clear(); });
        for (auto& thread : threads)
            thread.join();
        CHECK(pool->held() == 0);
    }
    lease last = pool->hand_out(pool, pool->acquire(0).value());
    pool.reset();
    CHECK(last.record().data != nullptr);
}

TEST_CASE("the pages of an outlier batch are given back, those of usual batches stay", "[loader]") {
    schema columns;
    columns.columns.push_back(column{"value", stoker::dtype::u8, 1, {unknown_extent}});
    auto pool = std::make_shared<slot_pool>(slab::create(plan_slots(2, columns, 4, 0)),
                                            doorbell::create(), 1);
    const auto blocks = [&] {
        struct stat info {};
        REQUIRE(::fstat(pool->slots().memory_descriptor(), &info) == 0);
        return static_cast<std::uint64_t>(info.st_blocks) * 512;
    };
    const auto deliver = [&](std::uint64_t bytes) {
        const auto slot = pool->acquire(0).value();
        std::memset(pool->slots().data(slot), 1, bytes);
        pool->record(slot).bytes = bytes;
        pool->note_batch(bytes);
        lease held = pool->hand_out(pool, slot);
    };
    for (int i = 0; i < 8; ++i)
        deliver(512 << 10);
    const auto usual = blocks();
    deliver(64 << 20);
    CHECK(blocks() > usual + (60 << 20));
    CHECK(pool->any_free());  // takes back what was released
    CHECK(blocks() < usual + (24 << 20));
    CHECK(blocks() >= usual);
}
