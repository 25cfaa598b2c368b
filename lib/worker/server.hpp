#pragma once

#include <signal.h>
#include <sys/types.h>

#include <exception>
#include <string>

#include <stoker/collate/fetcher.hpp>
#include "core/descriptor.hpp"

namespace stoker::detail {

/// Mask with SIGCHLD blocked and a descriptor that is readable when a child has changed.
descriptor watch_children(const sigset_t& mask);

/// What a fork server starts with, in the process that `fork_orphan` made.
struct server_start {
    descriptor socket{};      ///< its end of the lifeline
    descriptor main_pidfd{};  ///< of the process that it works for
    std::string name{};       ///< of the loader
    sigset_t signals{};       ///< mask that the dataset's code runs with
};

/// Says hello with a pidfd of this process; false when main is gone.
bool say_hello(int socket);

/// Tells main why this fork server ends. Never throws.
void say_last_words(int socket, const std::exception& failure) noexcept;

/// Forks, reaps and replaces workers until main is gone or closes the lifeline; then ends them and
/// returns. Never throws: without memory it ends as if main were gone.
void run_server(server_start& start, fetcher& source) noexcept;

/// "stoker:train", or "stoker" for a loader without a name.
std::string server_process_name(const std::string& loader_name);

}  // namespace stoker::detail
