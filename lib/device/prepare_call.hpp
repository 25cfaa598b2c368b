#pragma once

#include <stoker/device/preparation.hpp>
#include "device/prepare_job.hpp"

namespace stoker::detail {

/// The job in each form that a device may run it in. Points to `job`, which must live until the
/// call has been given to a kernel_queue.
kernel_call call_of(const image_job& job);
kernel_call call_of(const cast_job& job);

}  // namespace stoker::detail
