#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

namespace stoker::detail {

/// Deterministic and the same everywhere, unlike the standard's distributions.
class numbers {
  public:
    explicit numbers(std::uint32_t seed) : engine_(seed) {}
    int between(int low, int high) {
        return low + static_cast<int>(engine_() % static_cast<std::uint32_t>(high - low + 1));
    }
    std::uint8_t byte() { return static_cast<std::uint8_t>(engine_() >> 11); }
    std::uint64_t word() { return (std::uint64_t{engine_()} << 32) | engine_(); }
    bool coin() { return (engine_() >> 7 & 1u) != 0; }

  private:
    std::mt19937 engine_;
};

/// Where a kernel writes: what it leaves out, and what it writes beyond, shows.
class target_memory {
  public:
    explicit target_memory(std::size_t bytes)
        : bytes_(bytes), memory_((bytes + 2 * margin) / sizeof(aligned), aligned{}) {
        std::memset(memory_.data(), poison, memory_.size() * sizeof(aligned));
    }
    std::uint8_t* data() { return memory_.data()->bytes + margin; }
    bool margins_are_whole() {
        const std::uint8_t* all = memory_.data()->bytes;
        const std::uint8_t* end = all + memory_.size() * sizeof(aligned);
        const auto is_poison = [](std::uint8_t byte) { return byte == poison; };
        return std::all_of(all, all + margin, is_poison) &&
               std::all_of(all + margin + bytes_, end, is_poison);
    }

  private:
    static constexpr std::size_t margin = 256;
    static constexpr std::uint8_t poison = 0xa5;
    struct alignas(256) aligned {
        std::uint8_t bytes[256];
    };
    std::size_t bytes_;
    std::vector<aligned> memory_;
};

/// Exactly as much as the kernel may read, so that AddressSanitizer sees when it reads more.
inline std::vector<std::uint32_t> source_memory(numbers& random, std::size_t bytes) {
    std::vector<std::uint32_t> words((bytes + 3) / 4);
    for (auto& word : words)
        word = static_cast<std::uint32_t>(random.word());
    return words;
}

inline std::uint64_t bits_at(const std::uint8_t* data, std::size_t at, std::size_t bytes) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, data + at * bytes, bytes);
    return bits;
}

}  // namespace stoker::detail
