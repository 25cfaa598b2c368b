#pragma once
// What every arm of every benchmark shares: one clock, one way to print a measurement, one way to
// mark the stretch in which system calls are counted.

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

using clock = std::chrono::steady_clock;

inline double seconds_since(clock::time_point start) {
    return std::chrono::duration<double>(clock::now() - start).count();
}

/// One measurement as a line of JSON on standard output; run_bench adds bench, case and arm.
inline void report(std::string_view metric, double value, std::string_view unit) {
    std::printf("{\"metric\": \"%.*s\", \"value\": %.9g, \"unit\": \"%.*s\"}\n",
                static_cast<int>(metric.size()), metric.data(), value,
                static_cast<int>(unit.size()), unit.data());
    std::fflush(stdout);
}

/// An arm that delivered wrong data, or less than it was asked for, has no result.
[[noreturn]] inline void fail(const char* what) {
    std::fprintf(stderr, "%s\n", what);
    std::_Exit(1);
}

/// Nearest rank; sorts `values`.
inline double percentile(std::vector<double>& values, double percent) {
    std::sort(values.begin(), values.end());
    const auto rank = static_cast<double>(values.size() - 1) * percent / 100.0;
    return values.at(static_cast<std::size_t>(rank + 0.5));
}

/// Keeps the core busy, as a training step that launches kernels does; no system call.
inline void spin(std::chrono::nanoseconds duration) {
    const auto end = clock::now() + duration;
    while (clock::now() < end) {
    }
}

/// A stretch in which run_bench counts the system calls of the main thread (it runs the arm under
/// strace, where these impossible paths show up): `events` of them give `metric` by division.
class marked_stretch {
  public:
    marked_stretch(const char* metric, std::uint64_t events) {
        const auto path =
            "/stoker-bench/begin/" + std::string(metric) + "/" + std::to_string(events);
        (void)!::access(path.c_str(), F_OK);
    }
    marked_stretch(const marked_stretch&) = delete;
    marked_stretch& operator=(const marked_stretch&) = delete;
    ~marked_stretch() { (void)!::access("/stoker-bench/end", F_OK); }
};

/// Batches a second: a warm-up, then a measured stretch, both by the clock.
class throughput {
  public:
    /// Looks at the clock on every `stride`-th batch, so that fast arms are not slowed by it.
    explicit throughput(std::uint64_t stride) : stride_(stride) {}

    /// Call after every batch; false: the stretch is over.
    bool another() {
        if (++batches_ % stride_ != 0)
            return true;
        const auto elapsed = seconds_since(start_);
        if (!warm_) {
            if (elapsed < warm_up_seconds)
                return true;
            warm_ = true;
            batches_ = 0;
            start_ = clock::now();
            return true;
        }
        per_second_ = static_cast<double>(batches_) / elapsed;
        return elapsed < measured_seconds;
    }
    double per_second() const { return per_second_; }

    static constexpr double warm_up_seconds = 0.4;
    static constexpr double measured_seconds = 1.2;

  private:
    std::uint64_t stride_;
    std::uint64_t batches_ = 0;
    bool warm_ = false;
    clock::time_point start_ = clock::now();
    double per_second_ = 0;
};

/// `PROGRAM CASE [--count]`: --count asks for a short run of marked stretches and no timing.
struct arguments {
    std::string_view test_case{};
    bool count = false;

    explicit arguments(std::span<char*> words) {
        for (auto* word : words.subspan(1)) {
            if (std::string_view(word) == "--count") {
                count = true;
            } else {
                test_case = word;
            }
        }
        if (test_case.empty())
            fail("usage: PROGRAM CASE [--count]");
    }
};

}  // namespace bench
