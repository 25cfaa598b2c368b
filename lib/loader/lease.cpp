#include <stoker/loader/lease.hpp>

#include <algorithm>
#include <cstring>
#include <new>

#include "loader/slot_pool.hpp"

namespace stoker::detail {
namespace {

/// Aligned as the columns in a slot are.
struct free_aligned {
    void operator()(std::byte* memory) const noexcept {
        ::operator delete (memory, std::align_val_t{column_alignment});
    }
};
using aligned_memory = std::unique_ptr<std::byte, free_aligned>;

aligned_memory copy_aligned(const std::byte* data, std::size_t bytes) {
    const std::size_t room = std::max<std::size_t>(bytes, 1);
    aligned_memory memory(
        static_cast<std::byte*>(::operator new (room, std::align_val_t{column_alignment})));
    if (bytes > 0)
        std::memcpy(memory.get(), data, bytes);
    return memory;
}

/// A record that no slot stands behind.
struct copied_record : slot_record {
    explicit copied_record(const slot_record& source)
        : slot_record(source), memory(copy_aligned(source.data, source.bytes)) {
        data = memory.get();
    }
    aligned_memory memory;
};

}  // namespace

lease lease::copy() const {
    return record_ == nullptr ? lease() : lease(nullptr, *new copied_record(*record_));
}

void lease::release(slot_record& record) noexcept {
    if (pool_) {
        pool_->release(record.slot);
    } else {
        delete static_cast<copied_record*>(&record);
    }
}

}  // namespace stoker::detail
