#pragma once

#include <cstdint>
#include <utility>

namespace stoker::detail {

/// A stretch of work as profilers show it: an NVTX range of the domain "stoker", from construction
/// to destruction, with a payload, a batch's number. A process range, by its id, and none of a
/// thread's stack: it may end on another thread, as what a coroutine does may. Without a profiler,
/// or built without NVTX's headers, it does nothing. `name` must live as long as the process.
///
/// Thread safety: distinct ranges are independent.
class profile_range {
  public:
    profile_range() = default;
    profile_range(const char* name, std::uint64_t payload) noexcept : id_(begin(name, payload)) {}
    profile_range(profile_range&& other) noexcept : id_(std::exchange(other.id_, 0)) {}
    profile_range& operator=(profile_range&& other) noexcept {
        if (this != &other) {
            end();
            id_ = std::exchange(other.id_, 0);
        }
        return *this;
    }
    ~profile_range() { end(); }

    void end() noexcept {
        if (id_ != 0)
            end(std::exchange(id_, 0));
    }

  private:
    static std::uint64_t begin(const char* name, std::uint64_t payload) noexcept;
    static void end(std::uint64_t id) noexcept;

    std::uint64_t id_ = 0;
};

}  // namespace stoker::detail
