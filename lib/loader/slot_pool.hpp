#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <stoker/loader/lease.hpp>
#include "ipc/doorbell.hpp"
#include "ipc/slab.hpp"

namespace stoker::detail {

/// A loader's slots with the list of free ones. The free list lives in main's private memory: no
/// worker's death can damage it. Shared by the loader and by all leases of its batches.
///
/// Thread safety: `release` from any thread; everything else from the loader's thread only.
class slot_pool {
  public:
    slot_pool(slab slots, doorbell bell, int homes);

    const slab& slots() const { return slots_; }
    const doorbell& bell() const { return bell_; }
    slot_record& record(std::uint32_t slot) { return records_[slot]; }

    /// A free slot, at home with `worker` where there is one: that worker has it populated.
    std::optional<std::uint32_t> acquire(int worker);
    bool any_free();
    /// A batch of this many bytes arrived. Slots whose batch was far beyond what is usual give the
    /// excess back when they get free; layouts that the schema fixes never are.
    void note_batch(std::uint64_t data_bytes);
    /// The loader gives back a slot that was never handed out.
    void put_back(std::uint32_t slot);

    /// A slot goes to the user as a lease; it comes back by `release`.
    lease hand_out(const std::shared_ptr<slot_pool>& self, std::uint32_t slot);
    void release(std::uint32_t slot) noexcept;
    std::uint64_t held() const { return held_.load(std::memory_order_relaxed); }

    /// The next release rings the bell. Look at `any_free` again before sleeping.
    void want_bell() { wanted_.store(true, std::memory_order_seq_cst); }
    void forget_bell() { wanted_.store(false, std::memory_order_relaxed); }

  private:
    static constexpr std::uint32_t none = ~std::uint32_t{0};
    void collect_released();
    void trim(std::uint32_t slot);

    slab slots_;
    doorbell bell_;
    std::vector<slot_record> records_;
    std::uint64_t usual_bytes_ = 0;                 ///< moving average of batches' data
    std::vector<std::vector<std::uint32_t>> free_;  // by home worker
    std::vector<std::uint32_t> next_released_;      // links of the stack below
    std::atomic<std::uint32_t> released_{none};     // slots given back by leases
    std::atomic<std::uint64_t> held_{0};
    std::atomic<bool> wanted_{false};
};

}  // namespace stoker::detail
