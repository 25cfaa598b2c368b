#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <stoker/collate/column.hpp>
#include <stoker/core/index.hpp>

namespace stoker::detail {

class slot_pool;

/// What main knows of the batch in a slot; in main's own memory, where no worker can reach it.
struct slot_record {
    std::uint32_t slot = 0;
    std::byte* data = nullptr;           ///< first column
    std::vector<column_record> records;  ///< where the columns lie
    std::vector<index> indices;          ///< main's own copy of the batch's indices
    std::uint64_t epoch = 0;
    std::uint64_t number = 0;
    std::uint64_t bytes = 0;  ///< data bytes in use
};

/// Holds one slot until it is destroyed. Owns a share of the slab, so it may outlive the loader.
/// Or holds a copy of one, in memory of its own.
///
/// Thread safety: distinct leases may be used and destroyed on any threads.
class lease {
  public:
    lease() = default;
    lease(std::shared_ptr<slot_pool> pool, slot_record& record) noexcept
        : pool_(std::move(pool)), record_(&record) {}
    lease(lease&& other) noexcept
        : pool_(std::move(other.pool_)), record_(std::exchange(other.record_, nullptr)) {}
    lease& operator=(lease&& other) noexcept {
        if (this != &other) {
            give_back();
            pool_ = std::move(other.pool_);
            record_ = std::exchange(other.record_, nullptr);
        }
        return *this;
    }
    ~lease() { give_back(); }

    explicit operator bool() const noexcept { return record_ != nullptr; }
    const slot_record& record() const noexcept { return *record_; }
    /// Of the record and the batch, in ordinary memory; empty when this is. Throws std::bad_alloc.
    lease copy() const;

  private:
    void give_back() noexcept {
        if (record_ != nullptr)
            release(*std::exchange(record_, nullptr));
    }
    void release(slot_record& record) noexcept;

    std::shared_ptr<slot_pool> pool_;  // null: the record is a copy's
    slot_record* record_ = nullptr;
};

}  // namespace stoker::detail
