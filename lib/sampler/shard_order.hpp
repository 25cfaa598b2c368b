#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "sampler/permutation.hpp"

namespace stoker::detail {

/// Most lanes of a stream. Part of the order of every stream: it must never change.
inline constexpr std::uint64_t most_lanes = 64;

inline std::uint64_t lanes_of(std::uint64_t shards) {
    return std::min(shards, most_lanes);
}

/// Which shards a lane of a stream has: `lane`, `lane` + 64, … of the shards in their order, which
/// with `shuffle` is a permutation by (seed, epoch).
///
/// Thread safety: const.
class shard_order {
  public:
    shard_order() = default;
    shard_order(std::uint64_t shards, bool shuffle, std::uint64_t seed, std::uint64_t epoch);

    /// Shards of a lane.
    std::uint64_t count(std::uint64_t lane) const {
        const std::uint64_t lanes = lanes_of(shards_);
        return lane < lanes ? (shards_ - lane - 1) / lanes + 1 : 0;
    }
    /// Its shard number `ordinal`, which must be less than `count`.
    std::uint64_t shard(std::uint64_t lane, std::uint64_t ordinal) const {
        const std::uint64_t number = lane + ordinal * lanes_of(shards_);
        return order_ ? (*order_)(number) : number;
    }

  private:
    std::uint64_t shards_ = 0;
    std::optional<permutation> order_{};
};

}  // namespace stoker::detail
