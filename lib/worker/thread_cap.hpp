#pragma once

namespace stoker::detail {

/// Lets the pools of threads that this process starts from now on (OpenMP, BLAS, OpenCV and others)
/// have `threads` threads each; 0 changes nothing. For a process without other threads.
void cap_threads(int threads) noexcept;

}  // namespace stoker::detail
