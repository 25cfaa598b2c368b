#include <stoker/device/feed_stats.hpp>

namespace stoker {

namespace {

std::string mebibytes(std::uint64_t bytes) {
    const std::uint64_t tenths = bytes * 10 / (std::uint64_t{1} << 20);
    return std::to_string(tenths / 10) + '.' + std::to_string(tenths % 10) + " MiB";
}

}  // namespace

const char* name_of(pinning mode) noexcept {
    switch (mode) {
        case pinning::none:
            return "none";
        case pinning::registered:
            return "registered";
        case pinning::bounce:
            return "bounce";
        case pinning::pageable:
            return "pageable";
    }
    return "unknown";
}

std::string feed_stats::text() const {
    return std::to_string(batches) + " batches, " + mebibytes(copied_bytes) + " in " +
           std::to_string(copies) + " copies; pinning: " + name_of(mode) + ", " +
           mebibytes(pinned_bytes) + "; " + std::to_string(bounced) + " bounced, " +
           std::to_string(pageable) + " pageable; device memory " + mebibytes(device_bytes) +
           ", grown " + std::to_string(growths) + " times; depth " + std::to_string(depth) + ", " +
           std::to_string(waits) + " waits for a release";
}

}  // namespace stoker
