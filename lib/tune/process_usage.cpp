#include "tune/process_usage.hpp"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <string>

#include "core/descriptor.hpp"

namespace stoker::detail {
namespace {

// Both files are below 2 kB; a line more in a later kernel must not cost a value.
constexpr std::size_t text_bytes = 8192;

std::optional<std::string> read_text(const std::string& path) {
    const descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
    if (!file)
        return std::nullopt;
    std::string text(text_bytes, '\0');
    std::size_t held = 0;
    while (held < text.size()) {
        const ssize_t got = ::read(file.get(), text.data() + held, text.size() - held);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return std::nullopt;  // ESRCH: the process ended in between
        if (got == 0)
            break;
        held += static_cast<std::size_t>(got);
    }
    text.resize(held);
    return text;
}

std::string_view without_spaces(std::string_view text) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    return text;
}

std::optional<std::uint64_t> number_at(std::string_view& text) {
    text = without_spaces(text);
    std::uint64_t value = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem != std::errc{})
        return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return value;
}

/// The value of a line "Name:   12 kB", in bytes.
std::optional<std::uint64_t> bytes_of_line(std::string_view text, std::string_view name) {
    for (std::size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1)) {
        const bool whole =
            (at == 0 || text[at - 1] == '\n') && text.substr(at + name.size(), 1) == ":";
        if (!whole)
            continue;
        std::string_view rest = text.substr(at + name.size() + 1);
        const auto kilobytes = number_at(rest);
        if (!kilobytes || !without_spaces(rest).starts_with("kB"))
            return std::nullopt;
        return *kilobytes * 1024;
    }
    return std::nullopt;
}

}  // namespace

std::optional<memory_usage> parse_memory_usage(std::string_view smaps_rollup) {
    const auto anonymous = bytes_of_line(smaps_rollup, "Pss_Anon");
    const auto file = bytes_of_line(smaps_rollup, "Pss_File");
    const auto shared = bytes_of_line(smaps_rollup, "Pss_Shmem");
    if (!anonymous || !file || !shared)
        return std::nullopt;
    return memory_usage{*anonymous, *file, *shared};
}

std::optional<std::uint64_t> parse_reaped_ticks(std::string_view stat) {
    // The second field is the name in brackets, which may hold spaces and brackets of its own.
    const std::size_t name_end = stat.rfind(')');
    if (name_end == stat.npos)
        return std::nullopt;
    std::string_view rest = stat.substr(name_end + 1);
    constexpr int fields_between = 13;  // state to stime; cutime and cstime are fields 16 and 17
    for (int field = 0; field < fields_between; ++field) {
        rest = without_spaces(rest);
        rest.remove_prefix(std::min(rest.find(' '), rest.size()));
    }
    const auto user = number_at(rest);
    const auto system = number_at(rest);
    if (!user || !system)
        return std::nullopt;
    return *user + *system;
}

std::optional<memory_usage> memory_usage_of(pid_t process) {
    const auto text = read_text("/proc/" + std::to_string(process) + "/smaps_rollup");
    return text ? parse_memory_usage(*text) : std::nullopt;
}

std::optional<double> cpu_seconds_of(pid_t process) {
    clockid_t clock{};
    timespec time{};
    if (::clock_getcpuclockid(process, &clock) != 0)
        return std::nullopt;
    if (::clock_gettime(clock, &time) != 0)
        return std::nullopt;
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

std::optional<double> reaped_cpu_seconds_of(pid_t process) {
    const auto text = read_text("/proc/" + std::to_string(process) + "/stat");
    const auto ticks = text ? parse_reaped_ticks(*text) : std::nullopt;
    if (!ticks)
        return std::nullopt;
    return static_cast<double>(*ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

}  // namespace stoker::detail
