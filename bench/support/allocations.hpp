#pragma once

#include <cstdint>

/// Counts calls of malloc and its kin (operator new is one of them) in this process while it is
/// on; off at the start. C linkage, so that a peer in Python reaches it in a preloaded library.
///
/// Thread safety: any thread; threads are counted together.
extern "C" void bench_count_allocations(int on);
extern "C" std::uint64_t bench_allocations();
