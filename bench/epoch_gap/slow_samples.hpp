#pragma once
// epoch_gap's work, and how its gap is measured.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "support/measurement.hpp"

namespace bench {

inline constexpr int gap_workers = 4;
inline constexpr int gap_epochs = 20;
inline constexpr std::size_t gap_epoch_samples = std::size_t{16} * 32;
/// One sample in eight is fetched from somewhere: it takes time but no core (0.1 ms with Linux's
/// timer slack), 0.4 ms a batch.
inline void fetch_slowly(std::uint64_t index) {
    if (index % 8 == 0)
        std::this_thread::sleep_for(std::chrono::microseconds(50));
}

/// What the consumer does with each batch: a busy core for a while longer than the four workers
/// need to make one, so that a loader which runs ahead is never waited for.
inline constexpr std::chrono::milliseconds consumer_step{1};

/// Takes the steps of a training loop and tells what it waited for.
///
/// gap_ms: from asking, after the last batch of an epoch, to having the first of the next one;
/// wait_ms: the same between two batches of an epoch; interval_ms: from batch to batch of an epoch,
/// the step included.
class gap_recorder {
  public:
    /// Call with each batch; does the step.
    void delivered(int epoch) {
        const auto now = clock::now();
        if (any_) {
            (epoch == epoch_ ? waits_ : gaps_).push_back(milliseconds(now - asked_));
            if (epoch == epoch_)
                intervals_.push_back(milliseconds(now - delivered_));
        }
        any_ = true;
        epoch_ = epoch;
        delivered_ = now;
        spin(consumer_step);
        asked_ = clock::now();
    }
    void report() {
        if (gaps_.size() != static_cast<std::size_t>(gap_epochs) - 1)
            fail("epochs are missing");
        bench::report("gap_ms", percentile(gaps_, 50), "ms");
        bench::report("wait_ms", percentile(waits_, 50), "ms");
        bench::report("interval_ms", percentile(intervals_, 50), "ms");
    }

  private:
    static double milliseconds(clock::duration passed) {
        return std::chrono::duration<double, std::milli>(passed).count();
    }

    std::vector<double> gaps_;
    std::vector<double> waits_;
    std::vector<double> intervals_;
    clock::time_point asked_{};
    clock::time_point delivered_{};
    int epoch_ = 0;
    bool any_ = false;
};

}  // namespace bench
