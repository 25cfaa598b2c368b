// expect: open(shard, position): shard_count() is missing
#include <cstdint>
#include <optional>
#include <stoker/dataset/stream.hpp>

struct reader {
    std::optional<float> next() { return 1; }
    std::uint64_t position() const { return 0; }
};
struct numbers {
#ifdef CONTROL
    std::size_t shard_count() const {
        return 1;
    }
#endif
    reader open(std::size_t, std::uint64_t) const {
        return {};
    }
};
using sample = stoker::stream_traits<numbers>::sample;
