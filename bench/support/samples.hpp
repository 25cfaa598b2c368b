#pragma once
// The data that all arms of a benchmark load: a pool of equal samples, reached by a keyed index,
// and the one word of each sample that the consumer checks.

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace bench {

inline constexpr std::size_t small_sample_bytes = 16;
inline constexpr int small_batch_size = 32;
inline constexpr std::size_t image_bytes = 3 * 224 * 224;
inline constexpr int image_batch_size = 64;
/// Samples in an epoch of the transport cases: more than any arm gets through in one run.
inline constexpr std::size_t epoch_samples = std::size_t{1} << 30;

/// A power of two of samples; the index is spread over them, so that neither the prefetcher nor a
/// cache helps an arm.
class pool {
  public:
    pool(std::size_t samples, std::size_t sample_bytes)
        : samples_(samples), sample_bytes_(sample_bytes), bytes_(samples * sample_bytes) {
        for (std::size_t position = 0; position < samples; ++position) {
            auto* at = bytes_.data() + position * sample_bytes_;
            std::memset(at, static_cast<int>(position & 0xff), sample_bytes_);
            const auto first = word(position);
            std::memcpy(at, &first, sizeof first);
        }
    }

    std::size_t sample_bytes() const { return sample_bytes_; }
    const std::byte* sample(std::uint64_t index) const {
        return bytes_.data() + position(index) * sample_bytes_;
    }
    /// Whether a delivered sample is the one of `index`, by its first word.
    bool matches(std::uint64_t index, const void* delivered) const {
        std::uint64_t first = 0;
        std::memcpy(&first, delivered, sizeof first);
        return first == word(position(index));
    }

  private:
    std::size_t position(std::uint64_t index) const { return (index * 1597) & (samples_ - 1); }
    static std::uint64_t word(std::size_t position) { return (position + 1) * 0x9E3779B97F4A7C15; }

    std::size_t samples_;
    std::size_t sample_bytes_;
    std::vector<std::byte> bytes_;
};

/// 64 KiB of 16-byte samples.
inline pool small_pool() {
    return {4096, small_sample_bytes};
}

/// Images: 308 MB, doubled until the pool is twice the last-level cache.
inline pool image_pool() {
    std::size_t samples = 2048;
    const auto cache = ::sysconf(_SC_LEVEL3_CACHE_SIZE);
    while (cache > 0 && samples * image_bytes < 2 * static_cast<std::size_t>(cache))
        samples *= 2;
    return {samples, image_bytes};
}

}  // namespace bench
