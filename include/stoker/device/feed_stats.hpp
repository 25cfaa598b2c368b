#pragma once

#include <cstdint>
#include <string>

namespace stoker {

/// Where a feed's copies read.
enum class pinning {
    none,        ///< the host device: there is nothing to pin
    registered,  ///< straight from the loader's slots, which are pinned
    bounce,      ///< pinned buffers, into which the host copies each batch first
    pageable,    ///< memory that is not pinned
};

/// "none", "registered", "bounce", "pageable".
const char* name_of(pinning mode) noexcept;

/// What a device feed has done so far: `feed.stats()`.
struct feed_stats {
    pinning mode = pinning::none;
    std::uint64_t pinned_bytes = 0;  ///< of the loader's slots and of buffers beside them
    std::uint64_t depth = 0;         ///< `feed_options::depth`, or what memory_limit_bytes left
    std::uint64_t device_bytes = 0;  ///< device memory now
    std::uint64_t batches = 0;       ///< sent to the device
    std::uint64_t copies = 0;        ///< host to device: one a batch, none for empty ones
    std::uint64_t copied_bytes = 0;
    std::uint64_t bounced = 0;   ///< batches that went through a pinned buffer: they lay, or
                                 ///< reached, beyond the pinned part of a slot
    std::uint64_t pageable = 0;  ///< batches that came from pageable memory
    std::uint64_t growths = 0;   ///< times that device memory was got for a larger batch
    std::uint64_t waits = 0;     ///< times that `next()` had to wait for a batch to be released

    /// One line to read.
    std::string text() const;
};

}  // namespace stoker
