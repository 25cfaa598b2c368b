// expect: position(): next() is missing, or returns something else
#include <cstdint>
#include <optional>
#include <stoker/dataset/stream.hpp>

struct reader {
#ifdef CONTROL
    std::optional<float> next() {
        return 1;
    }
#else
    float next() {
        return 1;
    }
#endif
    std::uint64_t position() const {
        return 0;
    }
};
struct numbers {
    std::size_t shard_count() const { return 1; }
    reader open(std::size_t, std::uint64_t) const { return {}; }
};
using sample = stoker::stream_traits<numbers>::sample;
