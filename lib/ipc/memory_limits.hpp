#pragma once
// What the system lets a process have. Each limit has its own way to fail: RLIMIT_FSIZE ends the
// process by a signal in ftruncate, RLIMIT_AS fails a mapping, a cgroup calls the OOM killer when
// pages are touched. So all are read before, and passing one becomes a sentence that names it.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/descriptor.hpp"

namespace stoker::detail {

/// Bytes of address space that a ulimit leaves this process; the largest value: no limit.
std::uint64_t address_space_left() noexcept;

/// Bytes that a file of this process may have; the largest value: no limit.
std::uint64_t file_size_limit() noexcept;

/// Throws error{memory_limit} that names `ulimit -f` when a file of `bytes` would pass it.
void check_file_size_limit(std::uint64_t bytes, std::string_view purpose);

/// The memory limit that is nearest to being reached, of this process's cgroup and its ancestors.
struct memory_headroom {
    std::uint64_t limit_bytes = 0;
    std::uint64_t left_bytes = 0;  ///< limit minus use; file pages that can be dropped do not count
    std::string path{};            ///< of the cgroup's directory
};

/// Of cgroups v1 and v2; nullopt: no limit, or none that can be read. `root` goes before "/proc"
/// and before mount points: tests have a tree of their own.
std::optional<memory_headroom> read_memory_headroom(const std::string& root = {}) noexcept;

/// Throws error{memory_limit} naming needed, left and limit when `bytes` more would pass the
/// tightest memory limit of a cgroup. Best effort: what cannot be read counts as no limit.
void check_memory_headroom(std::uint64_t bytes, std::string_view purpose,
                           const std::string& root = {});

/// How often the kernel's out-of-memory killer has struck, by its own counts.
struct oom_kills {
    std::uint64_t in_cgroup = 0;  ///< processes of this process's cgroup and those below it
    std::uint64_t on_host = 0;    ///< of all
    std::string cgroup{};         ///< its directory; empty: none that counts
};

/// Best effort: what cannot be read is 0.
oom_kills read_oom_kills(const std::string& root = {}) noexcept;

/// What to tell of a process that SIGKILL ended between two looks; empty: not that.
std::string describe_oom_kill(const oom_kills& before, const oom_kills& after);

/// A memfd of zeros that nobody can resize any more: no access to a mapping of it can raise SIGBUS
/// for a file that shrank. Checks the file-size limit. Throws error{memory_limit or resource}.
descriptor make_sealed_memory(const char* name, std::uint64_t bytes, std::string_view purpose);

/// "1.5 GiB (1610612736 bytes)".
std::string format_bytes(std::uint64_t bytes);

}  // namespace stoker::detail
