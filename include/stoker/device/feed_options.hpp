#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace stoker {

/// How a device feed works. Values are checked when it is constructed; the error names option,
/// value and range.
struct feed_options {
    /// Batches on their way to the device or ready there, besides those that the user holds; 1 to
    /// 64. Two are enough where batches take about as long as steps; more even out slow ones, for
    /// their size in device memory each.
    int depth = 2;
    /// Batches that the user holds at once, 1 to 64: one in `while (auto batch = co_await
    /// feed.next())`. With more of them held `next()` waits for one to be released.
    int hold = 1;
    /// Most bytes of device memory; 0: no limit of ours. `depth` is lowered to fit, down to 1.
    std::uint64_t memory_limit_bytes = 0;
    /// Copy from pinned memory: the loader's own slots, or where those cannot be pinned a few
    /// buffers beside them. False: from pageable memory, which the copies are slower from and not
    /// asynchronous. Ignored by the host device.
    bool pin_memory = true;
    /// Told, in a sentence, of what the user may want to know and can do without: pinning was
    /// refused, depth was lowered. Called inside the feed's constructor and `next()`.
    std::function<void(std::string_view)> on_notice{};
};

}  // namespace stoker
