#pragma once
// What range_recorder.cpp wrote: ranges with their beginnings and ends.

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace recorded {

struct range {
    long process = 0;
    long thread = 0;      ///< that began it
    long end_thread = 0;  ///< 0: it has not ended
    std::uint64_t payload = 0;
    std::string name{};
};

/// Makes the ranges of this process, and of those that it forks from here on, go to a file of their
/// own. Before the first of them.
class recording {
  public:
    recording() : path_("/tmp/stoker-ranges-" + std::to_string(::getpid())) {
        ::unlink(path_.c_str());
        ::setenv("STOKER_RANGES", path_.c_str(), 1);
    }
    ~recording() { ::unlink(path_.c_str()); }
    recording(const recording&) = delete;
    recording& operator=(const recording&) = delete;

    /// All so far; `strays`: ends without a beginning, or second ones.
    std::vector<range> read(int* strays = nullptr) const {
        std::map<std::pair<long, std::uint64_t>, range> found;
        std::ifstream lines(path_);
        for (std::string line; std::getline(lines, line);) {
            std::istringstream words(line);
            std::string what;
            std::uint64_t id = 0;
            range now;
            words >> what >> now.process >> now.thread >> id >> now.payload >> std::ws;
            std::getline(words, now.name);
            const std::pair key(now.process, id);
            if (what == "start") {
                found[key] = now;
                continue;
            }
            const auto begun = found.find(key);
            if (begun != found.end() && begun->second.end_thread == 0)
                begun->second.end_thread = now.thread;
            else if (strays != nullptr)
                ++*strays;
        }
        std::vector<range> all;
        for (auto& [key, each] : found)
            all.push_back(std::move(each));
        return all;
    }

  private:
    std::string path_;
};

}  // namespace recorded
