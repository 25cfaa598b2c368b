#include "ipc/slab.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <string>
#include <type_traits>
#include <utility>

#include <stoker/core/error.hpp>
#include "core/system.hpp"
#include "ipc/queue_names.hpp"
#include "support/catch.hpp"
#include "support/run_child.hpp"

using namespace stoker::detail;
using Catch::Matchers::ContainsSubstring;
using stoker::test_support::run_child;

static_assert(std::is_nothrow_move_constructible_v<slab>);
static_assert(std::is_nothrow_move_assignable_v<slab>);
static_assert(!std::is_copy_constructible_v<slab>);
static_assert(std::is_trivially_copyable_v<slot_geometry>, "it travels to the workers");

namespace {

constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;

/// One column of bytes: so many a sample, or `unknown_extent`.
schema bytes_schema(std::uint64_t bytes_a_sample) {
    column pixels;
    pixels.name = "pixels";
    pixels.type = stoker::dtype::u8;
    pixels.element_bytes = 1;
    pixels.extents = {bytes_a_sample};
    return {.columns = {pixels}};
}

slab make_slab(std::uint64_t slot_count, std::uint64_t bytes_a_sample, std::uint64_t samples = 16) {
    return slab::create(plan_slots(slot_count, bytes_schema(bytes_a_sample), samples, 0));
}

/// Bytes of the memfd that have pages.
std::uint64_t allocated_bytes(const slab& slots) {
    struct stat status {};
    ::fstat(slots.memory_descriptor(), &status);
    return std::uint64_t(status.st_blocks) * 512;
}

/// Runs in a child with a limit; the child says what error it met.
stoker::test_support::child_outcome with_limit(int resource, std::uint64_t bytes,
                                               std::uint64_t bytes_a_sample) {
    return run_child([=](std::ostream& out) {
        const rlimit limit{.rlim_cur = bytes, .rlim_max = bytes};
        ::setrlimit(static_cast<__rlimit_resource>(resource), &limit);
        try {
            const slab slots = make_slab(8, bytes_a_sample);
            slots.populate(7, slots.geometry().data_offset + 4096);
            slots.data(7)[0] = std::byte{1};
            out << "data_limit " << slots.geometry().data_limit;
            return 0;
        } catch (const stoker::error& failure) {
            out << failure.what();
            return failure.code() == stoker::errc::memory_limit ? 3 : 4;
        }
    });
}

/// A mount namespace of its own with a small /dev/shm; false where that is refused.
bool enter_small_shared_memory(const char* options, unsigned long flags) {
    return ::unshare(CLONE_NEWNS) == 0 &&
           ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           ::mount("small", "/dev/shm", "tmpfs", flags, options) == 0;
}

constexpr int refused = 77;

bool skipped(const stoker::test_support::child_outcome& outcome) {
    if (outcome.exit_status != refused)
        return false;
    WARN("skipped: mounts are refused here");
    return true;
}

}  // namespace

TEST_CASE("a slot has room for records, indices and data, each aligned", "[ipc]") {
    const slot_geometry plan = plan_slots(5, bytes_schema(1000), 32, 0);
    CHECK(plan.slot_count == 5);
    CHECK(plan.column_count == 1);
    CHECK(plan.index_capacity == 32);
    CHECK(plan.indices_offset() == sizeof(column_record));
    CHECK(plan.data_offset >= plan.indices_offset() + 32 * sizeof(stoker::index));
    CHECK(plan.data_offset % column_alignment == 0);
    CHECK(plan.known_bytes >= 32 * 1000);
    CHECK(plan.data_limit >= plan.known_bytes);
    CHECK(plan.data_capacity() >= least_data_bytes);
    CHECK(plan.slot_bytes % 4096 == 0);
}

TEST_CASE("a batch of unknown size may grow to a gibibyte, or to its share", "[ipc]") {
    const slot_geometry free_plan = plan_slots(4, bytes_schema(unknown_extent), 16, 0);
    CHECK(free_plan.known_bytes == 0);
    CHECK(free_plan.data_limit == default_data_limit);
    CHECK(free_plan.slot_bytes >= free_plan.data_offset + default_data_limit);
    const slot_geometry limited = plan_slots(4, bytes_schema(unknown_extent), 16, 8 * mebibyte);
    CHECK(limited.data_limit == 2 * mebibyte);
}

TEST_CASE("a known need above memory_limit_bytes is refused with both figures", "[ipc]") {
    try {
        plan_slots(10, bytes_schema(mebibyte), 16, 100 * mebibyte);
        FAIL("accepted");
    } catch (const stoker::error& failure) {
        CHECK(failure.code() == stoker::errc::memory_limit);
        CHECK_THAT(failure.what(), ContainsSubstring("memory_limit_bytes"));
        CHECK_THAT(failure.what(), ContainsSubstring(std::to_string(100 * mebibyte)));
        CHECK_THAT(failure.what(), ContainsSubstring(std::to_string(160 * mebibyte)));
    }
    CHECK_NOTHROW(plan_slots(10, bytes_schema(mebibyte), 16, 160 * mebibyte));
}

TEST_CASE("two mappings of a slab show the same slots", "[ipc]") {
    const slab mine = make_slab(3, 100);
    const slab other = slab::open(descriptor{::dup(mine.memory_descriptor())}, mine.geometry());
    mine.indices(2)[1] = 77;
    mine.records(2)->bytes = 5;
    mine.data(2)[9] = std::byte{3};
    CHECK(other.indices(2)[1] == 77);
    CHECK(other.records(2)->bytes == 5);
    CHECK(other.data(2)[9] == std::byte{3});
    CHECK(other.data(1)[9] == std::byte{0});
    CHECK(mine.data(1) - mine.data(0) == std::ptrdiff_t(mine.geometry().slot_bytes));
}

TEST_CASE("large slots begin at huge pages", "[ipc]") {
    const slab large = make_slab(2, 4 * mebibyte);
    CHECK(large.geometry().slot_bytes % (2 * mebibyte) == 0);
    for (std::uint32_t number : {0U, 1U}) {
        CHECK(reinterpret_cast<std::uintptr_t>(large.slot(number)) % (2 * mebibyte) == 0);
    }
}

TEST_CASE("nobody can resize a slab", "[ipc]") {
    const slab slots = make_slab(1, 100);
    CHECK(::ftruncate(slots.memory_descriptor(), 0) == -1);
    CHECK(errno == EPERM);
    CHECK(::ftruncate(slots.memory_descriptor(), 1 << 30) == -1);
    CHECK(::fcntl(slots.memory_descriptor(), F_ADD_SEALS, F_SEAL_WRITE) == -1);
    CHECK((::fcntl(slots.memory_descriptor(), F_GETFD) & FD_CLOEXEC) != 0);
}

TEST_CASE("a slab smaller than agreed is refused", "[ipc]") {
    const slab slots = make_slab(1, 100);
    slot_geometry more = slots.geometry();
    more.slot_count = 2;
    CHECK_THROWS_AS(slab::open(descriptor{::dup(slots.memory_descriptor())}, more), stoker::error);
}

TEST_CASE("an untouched slab costs no memory, a populated slot its own", "[ipc]") {
    const slab slots = make_slab(4, unknown_extent);
    CHECK(slots.geometry().slot_count * slots.geometry().slot_bytes > 4096 * mebibyte);
    CHECK(allocated_bytes(slots) == 0);
    slots.populate(1, 3 * mebibyte);
    CHECK(allocated_bytes(slots) >= 3 * mebibyte);
    CHECK(allocated_bytes(slots) <= 6 * mebibyte);
    slots.data(1)[0] = std::byte{1};
    slots.release_beyond(1, mebibyte);
    CHECK(allocated_bytes(slots) <= 2 * mebibyte);
    CHECK(slots.data(1)[0] == std::byte{1});
    slots.release_beyond(1, 0);
    CHECK(allocated_bytes(slots) == 0);
    CHECK(slots.data(1)[0] == std::byte{0});
}

TEST_CASE("a slot that was given back can be populated again", "[ipc]") {
    const slab slots = make_slab(2, 64 * 1024);
    const std::uint64_t known = slots.known_prefix();
    slots.populate(0, known);
    const std::uint64_t before = allocated_bytes(slots);
    CHECK(before >= known);
    slots.release_beyond(0, 0);
    CHECK(allocated_bytes(slots) == 0);
    slots.populate(0, known);
    CHECK(allocated_bytes(slots) == before);
}

TEST_CASE("a known prefix is populated by one system call, not one a batch", "[ipc]") {
    static int advised = 0;
    const slab slots = make_slab(2, 64 * 1024);
    system_calls counting = system_calls::real();
    counting.madvise = [](void* address, std::size_t bytes, int advice) {
        ++advised;
        return ::madvise(address, bytes, advice);
    };
    const replaced_system_calls guard(counting);
    advised = 0;
    for (int i = 0; i < 10; ++i)
        slots.populate(1, slots.known_prefix());
    CHECK(advised == 1);
}

TEST_CASE("memory that cannot be had is an error with the bytes needed", "[ipc][B014]") {
    const slab slots = make_slab(2, 64 * 1024);
    system_calls failing = system_calls::real();
    failing.madvise = [](void*, std::size_t, int) {
        errno = ENOMEM;
        return -1;
    };
    const replaced_system_calls guard(failing);
    CHECK_THROWS_WITH(slots.populate(0, 70'000),
                      ContainsSubstring("70000 bytes") && ContainsSubstring("ENOMEM"));
    failing.madvise = [](void*, std::size_t, int) {
        errno = EINVAL;  // a kernel without MADV_POPULATE_WRITE
        return -1;
    };
    CHECK_NOTHROW(slots.populate(0, 70'000));
    CHECK_THROWS_AS(slots.populate(0, slots.geometry().slot_bytes + 1), stoker::error);
}

TEST_CASE("every call of a slab's making can fail without leaking", "[ipc]") {
    const auto plan = plan_slots(2, bytes_schema(4 * mebibyte), 16, 0);
    const auto count_descriptors = [] {
        int open = 0;
        for (int number = 0; number < 200; ++number)
            open += ::fcntl(number, F_GETFD) != -1 ? 1 : 0;
        return open;
    };
    const int before = count_descriptors();
    system_calls no_memory_file = system_calls::real();
    no_memory_file.memfd_create = [](const char*, unsigned) { return errno = EMFILE, -1; };
    system_calls no_size = system_calls::real();
    no_size.ftruncate = [](int, off_t) { return errno = EFBIG, -1; };
    system_calls no_seal = system_calls::real();
    no_seal.fcntl = [](int, int, int) { return errno = EPERM, -1; };
    system_calls no_map = system_calls::real();
    no_map.mmap = [](void*, std::size_t, int, int, int, off_t) {
        return errno = ENOMEM, MAP_FAILED;
    };
    for (const auto* table : {&no_memory_file, &no_size, &no_seal, &no_map}) {
        const replaced_system_calls guard(*table);
        CHECK_THROWS_WITH(slab::create(plan), ContainsSubstring("the slots of a loader"));
    }
    CHECK(count_descriptors() == before);
}

TEST_CASE("a forked child has no mapping of the slots", "[ipc]") {
    const slab slots = make_slab(2, 100);
    slots.data(0)[0] = std::byte{1};
    std::byte* const address = slots.slot(0);
    const auto outcome = run_child([address](std::ostream&) {
        unsigned char resident = 0;
        return ::mincore(address, 4096, &resident) == -1 && errno == ENOMEM ? 0 : 1;
    });
    CHECK(outcome.succeeded());
}

TEST_CASE("slots do not go into core dumps", "[ipc]") {
    const slab slots = make_slab(2, 100);
    std::ifstream maps("/proc/self/smaps");
    std::string flags;
    bool ours = false;
    for (std::string line; std::getline(maps, line);) {
        if (line.find("stoker-slots") != line.npos)
            ours = true;
        if (ours && line.starts_with("VmFlags:")) {
            flags = line + ' ';
            break;
        }
    }
    CHECK_THAT(flags, ContainsSubstring(" dd "));
    CHECK_THAT(flags, ContainsSubstring(" dc "));
}

TEST_CASE("a file-size limit shrinks slots of unknown size, and refuses known ones", "[ipc]") {
    const auto shrunk = with_limit(RLIMIT_FSIZE, 64 * mebibyte, unknown_extent);
    INFO(shrunk.text);
    CHECK(shrunk.signal == 0);
    CHECK(shrunk.exit_status == 0);
    const auto refusal = with_limit(RLIMIT_FSIZE, 64 * mebibyte, 4 * mebibyte);
    INFO(refusal.text);
    CHECK(refusal.signal == 0);
    CHECK(refusal.exit_status == 3);
    CHECK_THAT(refusal.text, ContainsSubstring("RLIMIT_FSIZE"));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_CASE("an address-space limit shrinks slots of unknown size, and refuses known ones", "[ipc]") {
    const auto shrunk = with_limit(RLIMIT_AS, 1024 * mebibyte, unknown_extent);
    INFO(shrunk.text);
    CHECK(shrunk.exit_status == 0);
    const auto refusal = with_limit(RLIMIT_AS, 1024 * mebibyte, 16 * mebibyte);
    INFO(refusal.text);
    CHECK(refusal.exit_status == 3);
    CHECK_THAT(refusal.text, ContainsSubstring("RLIMIT_AS"));
}
#endif

TEST_CASE("slots do not depend on the size of /dev/shm", "[ipc][B014]") {
    const auto outcome = run_child([](std::ostream&) {
        if (!enter_small_shared_memory("size=1m", 0))
            return refused;
        const slab slots = make_slab(2, 4 * mebibyte);
        slots.populate(0, 32 * mebibyte);
        std::fill_n(slots.slot(0), 32 * mebibyte, std::byte{7});
        return 0;
    });
    if (skipped(outcome))
        return;
    INFO(outcome.text);
    CHECK(outcome.signal == 0);
    CHECK(outcome.succeeded());
}

TEST_CASE("a fork that destroys its copy of a slab leaves what it has mapped there since",
          "[ipc]") {
    slab slots = make_slab(2, 64);
    const std::size_t bytes = slots.geometry().slot_count * slots.geometry().slot_bytes;
    const auto outcome = run_child([&](std::ostream& out) {
        void* const own = ::mmap(slots.slot(0), bytes, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (own != slots.slot(0)) {
            out << "the addresses are not free";
            return 1;
        }
        {
            slab moved = std::move(slots);
            const slab again = std::move(moved);
        }
        *static_cast<volatile char*>(own) = 1;
        return 0;
    });
    INFO(outcome.text);
    CHECK(outcome.succeeded());
}

TEST_CASE("a full or read-only /dev/shm is a sentence that says what to do", "[ipc][B014]") {
    const auto make_queue = [](const char* options, unsigned long flags) {
        return run_child([=](std::ostream& out) {
            if (!enter_small_shared_memory(options, flags))
                return refused;
            const queue_names names = make_queue_names();
            try {
                create_queue(names.tasks, 4096, 64);
            } catch (const stoker::error& failure) {
                out << failure.what();
                return ::access(("/dev/shm/" + names.tasks).c_str(), F_OK) == 0 ? 1 : 0;
            }
            return 2;
        });
    };
    const auto full = make_queue("size=16k", 0);
    if (skipped(full))
        return;
    INFO(full.text);
    CHECK(full.succeeded());
    CHECK_THAT(full.text, ContainsSubstring("ENOSPC") && ContainsSubstring("--shm-size"));
    const auto read_only = make_queue("size=1m", MS_RDONLY);
    INFO(read_only.text);
    CHECK(read_only.succeeded());
    CHECK_THAT(read_only.text, ContainsSubstring("EROFS") && ContainsSubstring("writable"));
}
