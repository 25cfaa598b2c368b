#pragma once

#include <array>
#include <chrono>

namespace stoker {

/// When a supervised child is started again.
enum class restart {
    never,       ///< it runs once
    on_failure,  ///< after an exception
    always,      ///< whenever it ends
};

/// How `supervise` restarts its child. All values are checked when `supervise` is called.
///
/// Thread safety: plain values.
struct restart_policy {
    restart when = restart::on_failure;
    /// Restarts allowed within any `window`, 0 or more; one more is given up.
    int max_restarts = 3;
    /// Longer than 0.
    std::chrono::milliseconds window = std::chrono::seconds(60);
    /// Pause before the first, the second and every further restart within a window, 0 or longer.
    std::array<std::chrono::milliseconds, 3> back_off = {
        std::chrono::milliseconds(0), std::chrono::milliseconds(100), std::chrono::seconds(1)};
};

}  // namespace stoker
