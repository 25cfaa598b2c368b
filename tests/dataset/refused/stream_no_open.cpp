// expect: open(std::size_t shard, std::uint64_t position) is missing, or it is private
#include <cstdint>
#include <optional>
#include <stoker/dataset/stream.hpp>

struct reader {
    std::optional<float> next() { return 1; }
    std::uint64_t position() const { return 0; }
};
struct numbers {
    std::size_t shard_count() const { return 1; }
#ifdef CONTROL
    reader open(std::size_t, std::uint64_t) const {
        return {};
    }
#else
    reader open(std::size_t) const {
        return {};
    }
#endif
};
using sample = stoker::stream_traits<numbers>::sample;
