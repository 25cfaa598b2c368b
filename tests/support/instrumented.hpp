#pragma once
// Whether a sanitizer's checks stand between the instructions of the tests.

namespace stoker::test_support {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool instrumented = true;
#else
inline constexpr bool instrumented = false;
#endif

}  // namespace stoker::test_support
