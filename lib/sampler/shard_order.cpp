#include "sampler/shard_order.hpp"

#include "dataset/stream_key.hpp"

namespace stoker::detail {

shard_order::shard_order(std::uint64_t shards, bool shuffle, std::uint64_t seed,
                         std::uint64_t epoch)
    : shards_(shards) {
    if (shuffle)
        order_.emplace(shards, stream_key(stream_purpose::shards, seed, 0), epoch);
}

}  // namespace stoker::detail
