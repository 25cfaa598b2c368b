#pragma once

#include <chrono>

namespace bench {

/// Calls measured in one run.
inline constexpr int ready_calls = 4000;
/// The step between two calls: long enough for the workers to refill and to go to sleep again,
/// which is how a loader that is no bottleneck lives.
inline constexpr std::chrono::microseconds ready_step{150};

}  // namespace bench
