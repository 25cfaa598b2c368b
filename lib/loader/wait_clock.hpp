#pragma once

#include <chrono>
#include <optional>

namespace stoker::detail {

/// How long the batch that is due next has been awaited: from the first time that somebody asked
/// for it, until it is delivered or given up, however often the asking was broken off.
///
/// Deadlines judge late, never early: time in which nobody looked is time in which this process may
/// have been stopped (job control, a debugger), so of each such gap only `plausible_gap` counts.
///
/// Thread safety: one thread at a time.
class wait_clock {
  public:
    using clock = std::chrono::steady_clock;
    static constexpr std::chrono::milliseconds plausible_gap{1000};

    explicit wait_clock(clock::time_point now) : last_look_(now) {}

    bool running() const { return started_.has_value(); }
    /// Only when it runs.
    clock::time_point started() const { return *started_; }

    /// Somebody asks, or looks again. Gives how much of the time since the last look does not count
    /// for anybody.
    clock::duration look(clock::time_point now) {
        const clock::duration gap = now - last_look_;
        last_look_ = now;
        const clock::duration forgiven =
            gap > plausible_gap ? gap - plausible_gap : clock::duration::zero();
        if (!started_) {
            started_ = now;
        } else {
            *started_ += forgiven;
        }
        return forgiven;
    }
    /// A sleep with a timer of its own ended in time: all of it counts.
    void wake(clock::time_point now) { last_look_ = now; }
    /// What went before was nobody's delay.
    void restart(clock::time_point now) {
        last_look_ = now;
        if (started_)
            started_ = now;
    }
    /// It was delivered or given up.
    void stop() { started_.reset(); }

  private:
    clock::time_point last_look_;
    std::optional<clock::time_point> started_{};
};

}  // namespace stoker::detail
