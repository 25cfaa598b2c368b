#include "support/leaks.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <thread>

namespace stoker::test_support {
namespace {

namespace fs = std::filesystem;

struct stat_line {
    process_entry entry{};
    unsigned long long start_ticks = 0;
};

bool is_number(const std::string& text) {
    return !text.empty() && std::all_of(text.begin(), text.end(),
                                        [](unsigned char c) { return std::isdigit(c) != 0; });
}

/// /proc/PID/stat; the name may hold spaces and parentheses, so that fields are counted from the
/// last parenthesis. Empty when the process is gone.
std::optional<stat_line> read_stat(const fs::path& directory) {
    std::ifstream file(directory / "stat");
    std::string line;
    if (!std::getline(file, line))
        return std::nullopt;
    const auto open = line.find('(');
    const auto close = line.rfind(')');
    if (open == std::string::npos || close == std::string::npos)
        return std::nullopt;
    stat_line result;
    result.entry.pid = static_cast<pid_t>(std::stol(line));
    result.entry.name = line.substr(open + 1, close - open - 1);
    std::istringstream rest(line.substr(close + 1));
    rest >> result.entry.state >> result.entry.parent;
    std::string skipped;
    for (int field = 5; field <= 21; ++field)
        rest >> skipped;
    rest >> result.start_ticks;
    return result;
}

template <class Function>
void each_process(Function function) {
    std::error_code failure;
    for (fs::directory_iterator it("/proc", failure), end; !failure && it != end;
         it.increment(failure)) {
        if (!is_number(it->path().filename().string()))
            continue;
        if (const auto stat = read_stat(it->path()))
            function(*stat, it->path());
    }
}

std::vector<process_entry> processes_of_this_program(unsigned long long earliest_start) {
    std::error_code failure;
    const fs::path own = fs::read_symlink("/proc/self/exe", failure);
    std::vector<process_entry> found;
    each_process([&](const stat_line& stat, const fs::path& directory) {
        if (stat.entry.pid == ::getpid() || stat.entry.state == 'Z')
            return;
        if (stat.start_ticks < earliest_start)
            return;
        std::error_code unreadable;
        const fs::path program = fs::read_symlink(directory / "exe", unreadable);
        if (!unreadable && program == own)
            found.push_back(stat.entry);
    });
    return found;
}

}  // namespace

std::vector<std::string> shared_memory_entries(pid_t owner) {
    const std::string prefix =
        owner == 0 ? std::string("stoker-") : "stoker-" + std::to_string(owner) + "-";
    std::vector<std::string> names;
    std::error_code failure;
    for (fs::directory_iterator it("/dev/shm", failure), end; !failure && it != end;
         it.increment(failure)) {
        const std::string name = it->path().filename().string();
        if (name.starts_with(prefix))
            names.push_back(name);
    }
    std::sort(names.begin(), names.end());
    return names;
}

std::size_t open_descriptor_count() {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : fs::directory_iterator("/proc/self/fd"))
        ++count;
    return count - 1;  // the directory's own
}

std::vector<process_entry> children() {
    std::vector<process_entry> found;
    each_process([&](const stat_line& stat, const fs::path&) {
        if (stat.entry.parent == ::getpid())
            found.push_back(stat.entry);
    });
    return found;
}

std::vector<process_entry> relatives() {
    return processes_of_this_program(0);
}

std::vector<process_entry> descendants() {
    const auto own = read_stat("/proc/self");
    auto all = processes_of_this_program(own ? own->start_ticks : 0);
    // It may have started in the same tick.
    std::erase_if(all, [](const process_entry& each) { return each.pid == ::getppid(); });
    return all;
}

std::size_t resident_bytes() {
    std::ifstream file("/proc/self/statm");
    std::size_t total_pages = 0;
    std::size_t resident_pages = 0;
    file >> total_pages >> resident_pages;
    return resident_pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

void pause_between_looks() {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

std::string to_text(const std::vector<process_entry>& processes) {
    std::string text;
    for (const auto& process : processes) {
        text += std::to_string(process.pid) + " " + process.name + " (" + process.state +
                ", parent " + std::to_string(process.parent) + ")\n";
    }
    return text;
}

}  // namespace stoker::test_support
