#pragma once

#include <chrono>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace stoker {

/// Thrown by `supervise` when its child ended more often than the policy allows. `what()` says the
/// budget and how each end within the window came about.
///
/// Thread safety: like std::runtime_error, copies share their contents, which never change.
class restarts_exhausted : public std::runtime_error {
  public:
    /// One end of the child.
    struct end {
        std::chrono::steady_clock::time_point when;
        std::exception_ptr failure;  ///< null when it returned (restart::always)
        std::string text;            ///< the exception's what(), or "returned"
    };

    restarts_exhausted(std::vector<end> history, int max_restarts,
                       std::chrono::milliseconds window);

    /// The ends within the last window, oldest first; the last is the one too many.
    const std::vector<end>& history() const noexcept { return *history_; }

  private:
    std::shared_ptr<const std::vector<end>> history_;
};

}  // namespace stoker
