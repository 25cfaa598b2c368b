#pragma once

#include <chrono>

#include <boost/asio/any_io_executor.hpp>

#include <stoker/runtime/channel.hpp>
#include <stoker/runtime/receiver.hpp>
#include <stoker/runtime/sender.hpp>

namespace stoker::detail {

/// How much a worker has under way at once. One object for a worker, shared by all its batches.
///
/// A channel's places are a semaphore that serves in order of asking and copes with cancellation:
/// a sample holds a permit while it is made, and never sends.
struct fetch_limits {
    struct place {};

    fetch_limits(const boost::asio::any_io_executor& executor, int in_flight,
                 std::chrono::milliseconds timeout)
        : places(executor, static_cast<std::size_t>(in_flight)), sample_timeout(timeout) {}

    channel<place> places;
    std::chrono::milliseconds sample_timeout;  ///< 0: none
    /// A sample that fails leaves the others of its batch alone: `samples_failed` tells of all.
    bool go_on = false;
};

}  // namespace stoker::detail
