// expect: next(context&), and position(): position() is missing
#include <cstdint>
#include <memory>
#include <optional>
#include <stoker/dataset/stream.hpp>

struct reader {
    std::optional<float> next() { return 1; }
#ifdef CONTROL
    std::uint64_t position() const {
        return 0;
    }
#endif
};
struct numbers {
    std::size_t shard_count() const { return 1; }
    std::unique_ptr<reader> open(std::size_t, std::uint64_t) const { return {}; }
};
using sample = stoker::stream_traits<std::shared_ptr<numbers>>::sample;
