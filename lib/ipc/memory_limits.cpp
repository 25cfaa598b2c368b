#include "ipc/memory_limits.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <limits>
#include <sstream>
#include <vector>

#include <stoker/core/error.hpp>
#include "core/system.hpp"

namespace stoker::detail {

namespace {

constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

std::uint64_t read_resource_limit(int resource) noexcept {
    rlimit limit{};
    // glibc's parameter is an enum in C++.
    if (::getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0)
        return no_limit;
    return limit.rlim_cur == RLIM_INFINITY ? no_limit : std::uint64_t(limit.rlim_cur);
}

std::optional<std::string> read_text(const std::string& path) {
    std::ifstream file(path);
    if (!file)
        return std::nullopt;
    std::ostringstream text;
    text << file.rdbuf();
    return std::move(text).str();
}

/// A file that holds one number; "max" and what v1 uses for it are no limit.
std::optional<std::uint64_t> read_number(const std::string& path) {
    const auto text = read_text(path);
    if (!text)
        return std::nullopt;
    if (text->starts_with("max"))
        return no_limit;
    std::uint64_t value = 0;
    const auto parsed = std::from_chars(text->data(), text->data() + text->size(), value);
    if (parsed.ec != std::errc{})
        return std::nullopt;
    constexpr std::uint64_t unlimited_in_v1 = std::uint64_t{1} << 62;
    return value >= unlimited_in_v1 ? no_limit : value;
}

/// One hierarchy that can limit memory.
struct hierarchy {
    std::string mount_root;  ///< the cgroup that is visible at the mount point
    std::string mount_point;
    bool version_2 = false;
};

/// From /proc/self/mountinfo: "… root mount-point options … - type source super-options".
std::vector<hierarchy> read_hierarchies(const std::string& root) {
    std::vector<hierarchy> found;
    std::ifstream file(root + "/proc/self/mountinfo");
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string word;
        std::string mount_root;
        std::string mount_point;
        words >> word >> word >> word >> mount_root >> mount_point;
        while (words >> word && word != "-") {
        }
        std::string type;
        std::string super_options;
        words >> type >> word >> super_options;
        const bool limits_memory =
            type == "cgroup" && (',' + super_options + ',').find(",memory,") != std::string::npos;
        if (type == "cgroup2" || limits_memory) {
            found.push_back({mount_root, mount_point, type == "cgroup2"});
        }
    }
    return found;
}

/// This process's cgroup in such a hierarchy, from /proc/self/cgroup: "4:memory:/path", "0::/path".
std::optional<std::string> read_own_cgroup(const std::string& root, bool version_2) {
    std::ifstream file(root + "/proc/self/cgroup");
    for (std::string line; std::getline(file, line);) {
        const std::size_t first = line.find(':');
        const std::size_t second = first == line.npos ? first : line.find(':', first + 1);
        if (second == line.npos)
            continue;
        const std::string controllers = line.substr(first + 1, second - first - 1);
        const bool matches = version_2
                                 ? line.starts_with("0::")
                                 : (',' + controllers + ',').find(",memory,") != std::string::npos;
        if (matches)
            return line.substr(second + 1);
    }
    return std::nullopt;
}

/// File pages on the LRU lists: the kernel drops them before it calls for the OOM killer. Pages of
/// memfds are not among them.
std::uint64_t read_droppable(const std::string& directory, bool version_2) {
    std::ifstream file(directory + "/memory.stat");
    const std::string inactive = version_2 ? "inactive_file" : "total_inactive_file";
    const std::string active = version_2 ? "active_file" : "total_active_file";
    std::uint64_t bytes = 0;
    std::string key;
    for (std::uint64_t value = 0; file >> key >> value;) {
        if (key == inactive || key == active)
            bytes += value;
    }
    return bytes;
}

std::optional<memory_headroom> read_group(const std::string& directory, bool version_2) {
    const auto limit =
        read_number(directory + (version_2 ? "/memory.max" : "/memory.limit_in_bytes"));
    const auto used =
        read_number(directory + (version_2 ? "/memory.current" : "/memory.usage_in_bytes"));
    if (!limit || !used || *limit == no_limit)
        return std::nullopt;
    const std::uint64_t droppable = read_droppable(directory, version_2);
    const std::uint64_t held = *used > droppable ? *used - droppable : 0;
    return memory_headroom{*limit, *limit > held ? *limit - held : 0, directory};
}

/// The value of a key in a file of "key value" lines.
std::optional<std::uint64_t> read_keyed(const std::string& path, const std::string& wanted) {
    std::ifstream file(path);
    std::string key;
    for (std::uint64_t value = 0; file >> key >> value;) {
        if (key == wanted)
            return value;
    }
    return std::nullopt;
}

/// Where this process's own cgroup lies below a mount point.
std::optional<std::string> find_own_path(const std::string& root, const hierarchy& tree) {
    auto path = read_own_cgroup(root, tree.version_2);
    // In a container the mount shows a part of the tree only; paths outside it are not there.
    if (path && tree.mount_root != "/" && path->starts_with(tree.mount_root))
        path->erase(0, tree.mount_root.size());
    return path;
}

std::optional<memory_headroom> find_tightest(const std::string& root) {
    std::optional<memory_headroom> tightest;
    for (const hierarchy& tree : read_hierarchies(root)) {
        const auto path = find_own_path(root, tree);
        if (!path)
            continue;
        for (std::string below = *path;; below.erase(below.rfind('/'))) {
            while (!below.empty() && below.back() == '/')
                below.pop_back();
            auto group = read_group(root + tree.mount_point + below, tree.version_2);
            if (group && (!tightest || group->left_bytes < tightest->left_bytes)) {
                tightest = std::move(group);
            }
            if (below.find('/') == below.npos)
                break;
        }
    }
    return tightest;
}

}  // namespace

std::uint64_t address_space_left() noexcept {
    const std::uint64_t limit = read_resource_limit(RLIMIT_AS);
    if (limit == no_limit)
        return no_limit;
    std::uint64_t pages = 0;
    const descriptor file{::open("/proc/self/statm", O_RDONLY | O_CLOEXEC)};
    std::array<char, 128> text{};
    const ssize_t bytes = file ? ::read(file.get(), text.data(), text.size()) : -1;
    if (bytes > 0)
        std::from_chars(text.data(), text.data() + bytes, pages);
    const std::uint64_t used = pages * std::uint64_t(::sysconf(_SC_PAGESIZE));
    return limit > used ? limit - used : 0;
}

std::uint64_t file_size_limit() noexcept {
    return read_resource_limit(RLIMIT_FSIZE);
}

void check_file_size_limit(std::uint64_t bytes, std::string_view purpose) {
    const std::uint64_t limit = file_size_limit();
    if (bytes <= limit)
        return;
    error_details details;
    details.code = errc::memory_limit;
    details.text = std::string(purpose) + " needs " + format_bytes(bytes) +
                   ", but the file-size limit of this process (ulimit -f, RLIMIT_FSIZE) is " +
                   format_bytes(limit);
    details.remedy = "raise the limit: ulimit -f unlimited; shared memory counts as a file";
    throw error{std::move(details)};
}

std::optional<memory_headroom> read_memory_headroom(const std::string& root) noexcept {
    try {
        return find_tightest(root);
    } catch (const std::exception&) {
        return std::nullopt;  // best effort
    }
}

void check_memory_headroom(std::uint64_t bytes, std::string_view purpose, const std::string& root) {
    const auto headroom = read_memory_headroom(root);
    if (!headroom || bytes <= headroom->left_bytes)
        return;
    error_details details;
    details.code = errc::memory_limit;
    details.text = std::string(purpose) + " needs " + format_bytes(bytes) + ", but only " +
                   format_bytes(headroom->left_bytes) + " are left of the memory limit of " +
                   format_bytes(headroom->limit_bytes) + " of the cgroup " + headroom->path;
    details.remedy =
        "raise the limit (docker run --memory), or need less: a smaller batch_size, "
        "prefetch_factor or num_workers";
    throw error{std::move(details)};
}

oom_kills read_oom_kills(const std::string& root) noexcept {
    oom_kills found;
    try {
        found.on_host = read_keyed(root + "/proc/vmstat", "oom_kill").value_or(0);
        for (const hierarchy& tree : read_hierarchies(root)) {
            const auto path = find_own_path(root, tree);
            if (!path)
                continue;
            const std::string directory = root + tree.mount_point + (*path == "/" ? "" : *path);
            const auto count =
                read_keyed(directory + (tree.version_2 ? "/memory.events" : "/memory.oom_control"),
                           "oom_kill");
            if (!count)
                continue;
            found.in_cgroup = *count;
            found.cgroup = directory;
        }
    } catch (const std::exception&) {  // best effort
    }
    return found;
}

std::string describe_oom_kill(const oom_kills& before, const oom_kills& after) {
    if (after.in_cgroup > before.in_cgroup) {
        return "the kernel's out-of-memory killer has struck in its cgroup " + after.cgroup +
               " meanwhile";
    }
    if (after.on_host > before.on_host)
        return "the kernel's out-of-memory killer has struck on this host meanwhile";
    return {};
}

descriptor make_sealed_memory(const char* name, std::uint64_t bytes, std::string_view purpose) {
    check_file_size_limit(bytes, purpose);
    descriptor memory = system::memory_file(name, purpose);
    system::set_size(memory.get(), bytes, purpose);
    system::add_seals(memory.get(), F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL, purpose);
    return memory;
}

std::string format_bytes(std::uint64_t bytes) {
    constexpr std::array<const char*, 5> units{"KiB", "MiB", "GiB", "TiB", "PiB"};
    const std::string exact = std::to_string(bytes) + " bytes";
    if (bytes < 1024)
        return exact;
    double value = double(bytes) / 1024;
    std::size_t unit = 0;
    for (; value >= 1024 && unit + 1 < units.size(); ++unit)
        value /= 1024;
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%.4g %s (", value, units[unit]);
    return text.data() + exact + ')';
}

}  // namespace stoker::detail
