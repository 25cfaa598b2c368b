#pragma once

#include <stoker/core/error.hpp>

namespace stoker::detail {

/// For a coroutine of a dataset's that was destroyed before its end.
[[noreturn]] inline void throw_dropped() {
    throw error(errc::sample_failed,
                "a coroutine of the dataset's can never go on: the handler that was to resume it "
                "was dropped uncalled");
}

}  // namespace stoker::detail
