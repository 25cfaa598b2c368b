#pragma once

#include "device/prepare_job.hpp"

namespace stoker::detail {

/// Runs a kernel's body here and now, on the calling thread; all pointers are the host's. False
/// when there is no such variant.
bool prepare_on_host(const image_job& job);
bool prepare_on_host(const cast_job& job);

}  // namespace stoker::detail
