#pragma once
// Runs a piece of a test in a process of its own: what may crash, hang or exit does so there.

#include <chrono>
#include <functional>
#include <ostream>
#include <string>

namespace stoker::test_support {

/// How a child ended.
struct child_outcome {
    bool timed_out = false;  ///< it was killed at its time limit, its process group with it
    int exit_status = -1;    ///< -1 when a signal ended it
    int signal = 0;          ///< 0 when it exited
    std::string text{};      ///< what it wrote to the stream, or to descriptors 1 and 2

    bool succeeded() const { return !timed_out && exit_status == 0; }
};

/// Forks; the child runs `body` and leaves by `_exit` with what it returns (so that neither
/// destructors of the test nor its framework run twice). An exception ends it with status 99 and
/// its text. No assertions of the framework in `body`: it says what it saw by text and status.
///
/// The child leads a process group of its own, which is killed when `limit` has passed. Processes
/// that it leaves behind and that keep descriptor 1 or 2 open do not hold up the caller.
child_outcome run_child(const std::function<int(std::ostream& out)>& body,
                        std::chrono::milliseconds limit = std::chrono::seconds(20));

}  // namespace stoker::test_support
