#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "device/device_calls.hpp"

namespace stoker::detail {

/// Pinned buffers beside the loader's slots, for batches that cannot be copied from where they lie.
///
/// Thread safety: `give_back` from any thread, everything else from the feed's.
class bounce_ring {
  public:
    bounce_ring(const device_calls& calls, std::size_t buffers);
    bounce_ring(const bounce_ring&) = delete;
    bounce_ring& operator=(const bounce_ring&) = delete;
    ~bounce_ring();

    /// Makes all buffers, of that size. False where pinned memory cannot be had; `refusal` says
    /// why.
    bool allocate(std::uint64_t bytes);
    const std::string& refusal() const noexcept { return refusal_; }
    /// Pinned memory was asked for, and there is none.
    bool is_refused() const noexcept { return bytes_ == 0 && !refusal_.empty(); }

    /// A free buffer; -1: none.
    int acquire();
    bool any_free();
    /// The buffer's memory, made larger where need be, with room to spare; null where that much
    /// pinned memory cannot be had. Only of an acquired buffer.
    std::byte* memory(int buffer, std::uint64_t bytes);
    void give_back(int buffer) noexcept;
    std::uint64_t bytes() const noexcept { return bytes_; }

  private:
    struct piece {
        std::byte* memory = nullptr;
        std::uint64_t bytes = 0;
        bool busy = false;  // guarded
    };
    bool resize(piece& buffer, std::uint64_t bytes);
    void drop(piece& buffer) noexcept;

    const device_calls& calls_;
    std::mutex lock_;
    std::vector<piece> buffers_;
    std::uint64_t bytes_ = 0;
    std::string refusal_;
};

}  // namespace stoker::detail
