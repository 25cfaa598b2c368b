#pragma once
// The cases of `startup` and the data that is held when the clock starts.

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "support/measurement.hpp"
#include "support/samples.hpp"

namespace bench {

/// plain: 4 workers and nothing held; data128mib: 8 workers and 128 MiB. "_fork_server" at the end:
/// by the other start method, from a server that was made first.
struct startup_case {
    int workers = 4;
    std::size_t held_bytes = 0;
    bool fork_server = false;

    explicit startup_case(std::string_view name) : fork_server(name.ends_with("_fork_server")) {
        if (fork_server)
            name.remove_suffix(std::string_view("_fork_server").size());
        if (name == "data128mib") {
            workers = 8;
            held_bytes = std::size_t{128} << 20;
        } else if (name != "plain") {
            fail("unknown case");
        }
    }
};

/// 16 bytes, as everywhere in this benchmark.
struct held_sample {
    std::array<std::uint64_t, 2> words;
};

/// A dataset in memory whose every page has been written; samples come from all over it.
class held_data {
  public:
    explicit held_data(std::size_t bytes) : samples_(samples_in(bytes)) {
        for (std::size_t position = 0; position < samples_.size(); ++position) {
            samples_[position].words = {position + 1, ~position};
        }
    }

    std::size_t size() const { return samples_.size(); }
    held_sample get(std::uint64_t index) const { return samples_[index * 1597 % samples_.size()]; }
    /// Whether a delivered sample is the one of `index`, by its first word; `bytes` as held, since
    /// the data itself may lie in another process.
    static bool matches(std::size_t bytes, std::uint64_t index, std::uint64_t first_word) {
        return first_word == index * 1597 % samples_in(bytes) + 1;
    }

  private:
    static std::size_t samples_in(std::size_t bytes) {
        constexpr std::size_t smallest = 65'536;
        return std::max(bytes, smallest) / sizeof(held_sample);
    }

    std::vector<held_sample> samples_;
};

}  // namespace bench
