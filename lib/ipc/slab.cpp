// Address space is free, pages are not. A slot gets more of the first than it is known to need, so
// that a batch of any size up to the limit fits without a protocol for growth; pages come when a
// batch is made, before its first byte is written, because a page that cannot be had is an errno
// then and SIGBUS later. What outgrew the known size is punched out again.

#include "ipc/slab.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include <stoker/core/error.hpp>
#include "core/system.hpp"
#include "ipc/memory_limits.hpp"

namespace stoker::detail {

namespace {

constexpr std::uint64_t huge_page_bytes = std::uint64_t{2} << 20;
constexpr int populate_write = 23;  // MADV_POPULATE_WRITE, Linux 5.14; missing from older headers

std::uint64_t page_bytes() noexcept {
    static const auto bytes = std::uint64_t(::sysconf(_SC_PAGESIZE));
    return bytes;
}

/// a × b, or the largest value.
std::uint64_t saturating_product(std::uint64_t a, std::uint64_t b) noexcept {
    std::uint64_t product = 0;
    return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::uint64_t>::max()
                                                  : product;
}

[[noreturn]] void refuse(std::string text, std::string remedy) {
    error_details details;
    details.code = errc::memory_limit;
    details.text = std::move(text);
    details.remedy = std::move(remedy);
    throw error{std::move(details)};
}

/// The virtual extent of a slot with so much data.
std::uint64_t slot_extent(const slot_geometry& geometry, std::uint64_t data_bytes,
                          std::uint64_t alignment) noexcept {
    return align_up(geometry.data_offset + std::max(data_bytes, least_data_bytes), alignment);
}

/// What the ulimits leave for all slots together.
struct virtual_limit {
    std::uint64_t bytes = 0;
    std::string name{};
};

virtual_limit read_virtual_limit() {
    const std::uint64_t file = file_size_limit();
    std::uint64_t space = address_space_left();
    if (space != std::numeric_limits<std::uint64_t>::max()) {
        // Half of what is left, so that the program can go on allocating.
        space /= 2;
    }
    if (file <= space)
        return {file, "the file-size limit (ulimit -f, RLIMIT_FSIZE)"};
    return {space, "half of what the address-space limit (ulimit -v, RLIMIT_AS) leaves"};
}

/// Sets data_limit and slot_bytes: generous, or what fits.
void fit_extents(slot_geometry& geometry, std::uint64_t wanted_data) {
    const virtual_limit limit = read_virtual_limit();
    const std::uint64_t generous = slot_extent(geometry, wanted_data, huge_page_bytes);
    const std::uint64_t tight = slot_extent(geometry, wanted_data, page_bytes());
    const auto fits = [&](std::uint64_t slot_bytes) {
        // One huge page more: the mapping is aligned by reserving that much too much.
        return saturating_product(geometry.slot_count, slot_bytes) <=
               limit.bytes -
                   std::min(limit.bytes, slot_bytes % huge_page_bytes == 0 ? huge_page_bytes : 0);
    };
    geometry.data_limit = wanted_data;
    geometry.slot_bytes = tight >= huge_page_bytes && fits(generous) ? generous : tight;
    if (fits(geometry.slot_bytes))
        return;

    const std::uint64_t least = slot_extent(geometry, geometry.known_bytes, page_bytes());
    const std::uint64_t share = limit.bytes / geometry.slot_count / page_bytes() * page_bytes();
    if (least > share) {
        refuse(std::to_string(geometry.slot_count) + " slots need " +
                   format_bytes(saturating_product(geometry.slot_count, least)) +
                   " of shared memory, but " + limit.name + " is " + format_bytes(limit.bytes),
               "raise that limit, or need less: a smaller batch_size, prefetch_factor or "
               "num_workers");
    }
    geometry.slot_bytes = share;
    // A multiple of the huge page would be aligned to one, which needs more than its share.
    if (geometry.slot_bytes % huge_page_bytes == 0 && share > least) {
        geometry.slot_bytes -= page_bytes();
    }
    geometry.data_limit = std::min(wanted_data, geometry.data_capacity());
}

}  // namespace

slot_geometry plan_slots(std::uint64_t slot_count, const schema& columns,
                         std::uint64_t index_capacity, std::uint64_t memory_limit_bytes,
                         bool full_batches, std::optional<std::uint64_t> index_words) {
    slot_geometry geometry;
    geometry.slot_count = std::max<std::uint64_t>(slot_count, 1);
    geometry.column_count = columns.columns.size();
    geometry.index_capacity = index_capacity;
    geometry.index_words = index_words.value_or(index_capacity);
    const std::uint64_t head =
        geometry.indices_offset() + saturating_product(geometry.index_words, sizeof(index));
    geometry.data_offset = align_up(head, column_alignment);
    if (!columns.fixed() || !full_batches) {
        const std::uint64_t share = memory_limit_bytes / geometry.slot_count;
        fit_extents(geometry, memory_limit_bytes == 0 ? default_data_limit : share);
        return geometry;
    }
    geometry.known_bytes = columns.batch_bytes(index_capacity);
    const std::uint64_t needed = saturating_product(geometry.slot_count, geometry.known_bytes);
    if (memory_limit_bytes != 0 && needed > memory_limit_bytes) {
        refuse("memory_limit_bytes is " + format_bytes(memory_limit_bytes) + ", but " +
                   std::to_string(geometry.slot_count) + " batches of " +
                   format_bytes(geometry.known_bytes) + " need " + format_bytes(needed),
               "raise memory_limit_bytes, or lower batch_size, prefetch_factor or num_workers");
    }
    fit_extents(geometry, std::max(geometry.known_bytes, least_data_bytes));
    return geometry;
}

slab slab::create(const slot_geometry& geometry) {
    constexpr std::string_view purpose = "the slots of a loader";
    slab made;
    made.geometry_ = geometry;
    made.memory_ =
        make_sealed_memory("stoker-slots", geometry.slot_count * geometry.slot_bytes, purpose);
    made.map(purpose);
    return made;
}

slab slab::open(descriptor memory, const slot_geometry& geometry) {
    struct stat status {};
    if (::fstat(memory.get(), &status) != 0 ||
        std::uint64_t(status.st_size) < geometry.slot_count * geometry.slot_bytes) {
        throw error{errc::protocol, "the memory of a loader's slots is smaller than agreed"};
    }
    slab made;
    made.geometry_ = geometry;
    made.memory_ = std::move(memory);
    made.map("a worker's view of the slots");
    return made;
}

void slab::map(std::string_view purpose) {
    const std::uint64_t bytes = geometry_.slot_count * geometry_.slot_bytes;
    const bool aligned = geometry_.slot_bytes % huge_page_bytes == 0;
    populated_ = std::make_unique<std::atomic<std::uint64_t>[]>(geometry_.slot_count);
    if (!aligned) {
        base_ = system::map(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory_.get(), 0,
                            purpose);
    } else {
        // Reserve one huge page too much, map at a boundary inside, give the rest back.
        std::byte* const reserved =
            system::map(nullptr, bytes + huge_page_bytes, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0, purpose);
        const auto address = reinterpret_cast<std::uintptr_t>(reserved);
        const std::uint64_t before = align_up(address, huge_page_bytes) - address;
        try {
            base_ = system::map(reserved + before, bytes, PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_FIXED, memory_.get(), 0, purpose);
        } catch (...) {
            system::unmap(reserved, bytes + huge_page_bytes);
            throw;
        }
        system::unmap(reserved, before);
        system::unmap(base_ + bytes, huge_page_bytes - before);
    }
    system::advise(base_, bytes, MADV_DONTDUMP);
    // A fork of the host or of a dataset must neither copy the mapping nor keep the memory alive.
    system::advise(base_, bytes, MADV_DONTFORK);
    owner_ = ::getpid();
    const std::uint64_t whole = known_prefix() / huge_page_bytes * huge_page_bytes;
    for (std::uint64_t number = 0; aligned && whole != 0 && number < geometry_.slot_count;
         ++number) {
        system::advise(base_ + number * geometry_.slot_bytes, whole, MADV_HUGEPAGE);
    }
}

void slab::unmap() noexcept {
    std::byte* const base = std::exchange(base_, nullptr);
    // A fork never had the mapping: by now the addresses may be those of something of its own.
    if (base != nullptr && ::getpid() == owner_)
        system::unmap(base, geometry_.slot_count * geometry_.slot_bytes);
}

slab::slab(slab&& other) noexcept
    : geometry_(std::exchange(other.geometry_, {})),
      memory_(std::move(other.memory_)),
      base_(std::exchange(other.base_, nullptr)),
      owner_(other.owner_),
      populated_(std::move(other.populated_)) {}

slab& slab::operator=(slab&& other) noexcept {
    if (this != &other) {
        unmap();
        geometry_ = std::exchange(other.geometry_, {});
        memory_ = std::move(other.memory_);
        base_ = std::exchange(other.base_, nullptr);
        owner_ = other.owner_;
        populated_ = std::move(other.populated_);
    }
    return *this;
}

slab::~slab() {
    unmap();
}

column_record* slab::records(std::uint32_t number) const {
    return reinterpret_cast<column_record*>(slot(number));
}

index* slab::indices(std::uint32_t number) const {
    return reinterpret_cast<index*>(slot(number) + geometry_.indices_offset());
}

std::uint64_t slab::known_prefix() const noexcept {
    return std::min(align_up(geometry_.data_offset + geometry_.known_bytes, page_bytes()),
                    geometry_.slot_bytes);
}

void slab::populate(std::uint32_t number, std::uint64_t bytes) const {
    if (bytes > geometry_.slot_bytes) {
        throw error{errc::batch_too_large, "a batch needs " + format_bytes(bytes) +
                                               ", but a slot has " +
                                               format_bytes(geometry_.slot_bytes)};
    }
    const std::uint64_t end = align_up(bytes, page_bytes());
    const std::uint64_t known = known_prefix();
    std::atomic<std::uint64_t>& mark = populated_[number];
    const std::uint64_t begin = mark.load(std::memory_order_relaxed);
    if (end <= begin)
        return;
    // What is known was checked when the loader was made; the rest comes as it comes.
    if (end > known) {
        constexpr std::uint64_t worth_a_check = std::uint64_t{4} << 20;
        const std::uint64_t growth = end - std::max(begin, known);
        if (growth >= worth_a_check)
            check_memory_headroom(growth, "a larger batch than known");
    }
    std::byte* const start = slot(number) + begin;
    const int failure = system::advise(start, end - begin, populate_write);
    if (failure == EFAULT || failure == ENOMEM || failure == EHWPOISON) {
        refuse("a batch needs " + format_bytes(bytes) +
                   " of memory, which could not be had: " + system::describe(failure),
               "free memory on this host or in its cgroup, or need less: a smaller batch_size, "
               "prefetch_factor or num_workers");
    }
    if (failure != 0 && failure != EINVAL && failure != ENOSYS) {
        system::fail("madvise(MADV_POPULATE_WRITE)", "a batch of " + format_bytes(bytes), failure);
    }
    mark.store(std::min(end, known), std::memory_order_relaxed);
}

void slab::release_beyond(std::uint32_t number, std::uint64_t bytes) const noexcept {
    const std::uint64_t begin = align_up(bytes, page_bytes());
    if (begin >= geometry_.slot_bytes)
        return;
    const std::uint64_t offset = number * geometry_.slot_bytes + begin;
    system::punch_hole(memory_.get(), offset, geometry_.slot_bytes - begin);
    std::atomic<std::uint64_t>& mark = populated_[number];
    if (mark.load(std::memory_order_relaxed) > begin) {
        mark.store(begin, std::memory_order_relaxed);
    }
}

}  // namespace stoker::detail
