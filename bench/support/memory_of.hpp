#pragma once

#include <sys/types.h>

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>

namespace bench {

/// A process's share of memory, in MB (10^6 bytes): pages shared by n processes count 1/n for each.
struct memory_share {
    double own_mb = 0;          ///< Pss_Anon + Pss_File
    double shared_mb = 0;       ///< Pss_Shmem
    double page_tables_mb = 0;  ///< VmPTE
};

/// The value of a "Name:   123 kB" line in a file of /proc, in MB; 0 where there is none.
inline double proc_field_mb(const std::string& file, const std::string& name) {
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) {
        if (!line.starts_with(name + ":"))
            continue;
        std::istringstream words(line.substr(name.size() + 1));
        double kibibytes = 0;
        words >> kibibytes;
        return kibibytes * 1024 / 1e6;
    }
    return 0;
}

inline memory_share memory_of(pid_t process) {
    const auto folder = "/proc/" + std::to_string(process) + "/";
    const auto rollup = folder + "smaps_rollup";
    return {.own_mb = proc_field_mb(rollup, "Pss_Anon") + proc_field_mb(rollup, "Pss_File"),
            .shared_mb = proc_field_mb(rollup, "Pss_Shmem"),
            .page_tables_mb = proc_field_mb(folder + "status", "VmPTE")};
}

/// 0 when it cannot be told.
inline pid_t parent_of(pid_t process) {
    std::ifstream in("/proc/" + std::to_string(process) + "/status");
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with("PPid:"))
            return static_cast<pid_t>(std::stol(line.substr(5)));
    }
    return 0;
}

}  // namespace bench
