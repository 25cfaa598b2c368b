#pragma once

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include <stoker/collate/member_types.hpp>
#include <stoker/device/feed_parts.hpp>
#include <stoker/device/prepare_plan.hpp>

namespace stoker {

/// How one member of a device's sample is made: what `prepare` gives, a part of a device feed.
///
/// Thread safety: like a plain struct.
template <class Sample, class DeviceSample>
class prepared_member {
  public:
    using sample = Sample;
    using device_sample = DeviceSample;

    explicit prepared_member(detail::prepare_step step) : step_(std::move(step)) {}
    const detail::prepare_step& step() const { return step_; }

  private:
    detail::prepare_step step_;
};

namespace detail {

template <class Sample, class PartSample, class DeviceSample, class... Rest>
struct feed_parts<Sample, prepared_member<PartSample, DeviceSample>, Rest...> {
    using part = prepared_member<Sample, DeviceSample>;
    static_assert(std::same_as<Sample, PartSample>,
                  "stoker: a stoker::prepare is of another sample than the loader's");
    static_assert((std::same_as<Rest, prepared_member<PartSample, DeviceSample>> && ...),
                  "stoker: the stoker::prepare parts of a device_feed name members of the same two "
                  "structs");
    using device_sample = DeviceSample;

    static std::unique_ptr<preparation> make(const std::same_as<part> auto&... parts) {
        return make_preparation(schema_of<Sample>(), schema_of<DeviceSample>(), {parts.step()...});
    }
};

}  // namespace detail

}  // namespace stoker
