#pragma once

#include <memory>

#include <stoker/device/preparation.hpp>

namespace stoker {
struct feed_options;
}  // namespace stoker

namespace stoker::detail {

/// What the parts given to a device feed of batches of `Sample` come to. Each kind of part
/// specialises it in its own header, with
/// - `device_sample`: the struct whose columns the user sees on the device;
/// - `make(parts…)`: the preparation, or null where batches stay as they are.
template <class Sample, class... Parts>
struct feed_parts {
    static_assert(sizeof...(Parts) == 0,
                  "stoker: after the device and its options a device_feed takes stoker::prepare(…) "
                  "parts");
};

/// No parts: columns are copied as they are.
template <class Sample>
struct feed_parts<Sample> {
    using device_sample = Sample;
    static std::unique_ptr<preparation> make() { return nullptr; }
};

/// Options may stand before the parts.
template <class Sample, class... Parts>
struct feed_parts<Sample, feed_options, Parts...> : feed_parts<Sample, Parts...> {};

}  // namespace stoker::detail
