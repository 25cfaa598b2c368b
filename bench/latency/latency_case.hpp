#pragma once
// latency's work: samples that take 20 ms to come, from a place that serves any number at once.

#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>

#include "support/measurement.hpp"

namespace bench {

inline constexpr std::chrono::milliseconds sample_latency{20};
inline constexpr int latency_workers = 2;
inline constexpr int latency_batch_size = 16;

/// "f64": 64 samples under way at once in each worker.
inline int in_flight_of(std::string_view test_case) {
    const int in_flight = test_case.starts_with('f') ? std::atoi(&test_case[1]) : 0;
    if (in_flight <= 0)
        fail("unknown case");
    return in_flight;
}

/// Batches each worker must be given, so that this many samples are there to begin, and some to
/// begin when others end.
inline int prefetch_for(int in_flight) {
    return 2 + 2 * in_flight / latency_batch_size;
}

}  // namespace bench
