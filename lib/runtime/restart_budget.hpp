#pragma once

#include <chrono>
#include <exception>
#include <optional>
#include <vector>

#include <stoker/runtime/restart_policy.hpp>
#include <stoker/runtime/restarts_exhausted.hpp>

namespace stoker::detail {

/// Counts the ends of a child against its policy; it is told the time, so tests need no clock.
class restart_budget {
  public:
    using time_point = std::chrono::steady_clock::time_point;

    explicit restart_budget(const restart_policy& policy) : policy_(policy) {}

    /// The pause before the next start; nothing when the child may not be restarted any more.
    /// `failure` is null when the child returned.
    std::optional<std::chrono::milliseconds> spend(time_point now, std::exception_ptr failure);

    std::vector<restarts_exhausted::end> take_history() noexcept { return std::move(ends_); }

  private:
    restart_policy policy_;
    std::vector<restarts_exhausted::end> ends_;  // within the window
};

}  // namespace stoker::detail
