#pragma once

#include <sched.h>
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <stoker/core/error.hpp>
#include <stoker/worker/fetcher_recipe.hpp>
#include "core/descriptor.hpp"

namespace stoker::detail {

/// A loaded program or library, as it was at one moment.
struct loaded_module {
    std::uintptr_t base = 0;
    std::string name{};

    bool operator==(const loaded_module&) const = default;
};

/// The process behind a `stoker::fork_server`, as main sees it.
///
/// Thread safety: const members from any thread.
class recipe_connection {
  public:
    /// Forks it. Throws error{threads_at_fork or resource}.
    explicit recipe_connection(std::chrono::milliseconds build_limit);
    /// Ends the process, now, though recipes may still refer to the connection. Never throws.
    void end() const noexcept;

    descriptor socket{};
    descriptor pidfd{};
    pid_t pid = 0;
    std::chrono::milliseconds build_limit{};
    std::vector<loaded_module> modules{};  ///< that it knows

    /// Throws error{invalid_dataset} naming the library of a function that it does not have.
    void require_known(const void* function) const;
};

class recipe_origin {
  public:
    explicit recipe_origin(std::shared_ptr<const recipe_connection> server);

    std::shared_ptr<const recipe_connection> connection{};
    descriptor directory{};
    std::vector<std::string> environment{};
    cpu_set_t processors{};
};

/// A fork server of one loader's own that is building its dataset.
struct pending_build {
    descriptor lifeline{};
    descriptor report{};  ///< memory file with the error, when it says build_failed
    std::chrono::milliseconds limit{};
};

/// Sends the recipe. Throws error{fork_server_died or resource}.
pending_build request_build(const fetcher_recipe& recipe, const std::string& name);

/// The error that a build has left.
error_details read_build_report(int file);

}  // namespace stoker::detail
