#include <stoker/tune/sweep_result.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>

#include <stoker/core/error.hpp>

namespace stoker {
namespace {

std::string fixed(double value, int digits) {
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%.*f", digits, value);
    return text.data();
}

/// Three digits that count: 12.3, 1.23, 0.0123.
std::string seconds(double value) {
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), value >= 100 ? "%.0f" : "%#.3g", value);
    return text.data();
}

/// 1234567 as 1,234,567.
std::string with_commas(double value) {
    std::string digits = fixed(value, 0);
    for (std::size_t at = digits.size(); at > 3;) {
        at -= 3;
        digits.insert(at, 1, ',');
    }
    return digits;
}

std::string megabytes(const std::optional<std::uint64_t>& bytes) {
    return bytes ? fixed(static_cast<double>(*bytes) / 1e6, 1) : "-";
}

/// Columns on a terminal: UTF-8's following bytes take none.
std::size_t width(const std::string& text) {
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char byte) {
        return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
    }));
}

using line = std::vector<std::string>;

/// Lines as columns, right-aligned, so that digits stand below each other.
std::string aligned(const std::vector<line>& lines) {
    std::vector<std::size_t> widths(lines.front().size());
    for (const line& cells : lines) {
        for (std::size_t i = 0; i < cells.size(); ++i) {
            widths[i] = std::max(widths[i], width(cells[i]));
        }
    }
    std::string text;
    for (const line& cells : lines) {
        std::string row;
        for (std::size_t i = 0; i < cells.size(); ++i) {
            row += std::string(widths[i] - width(cells[i]) + (i == 0 ? 0 : 2), ' ') + cells[i];
        }
        row.erase(row.find_last_not_of(' ') + 1);
        text += row + '\n';
    }
    return text;
}

std::string workers(int count) {
    if (count == 0)
        return "0 workers (the calling process loads)";
    return std::to_string(count) + (count == 1 ? " worker" : " workers");
}

/// Designated initializers of the options that differ from their defaults, in their order.
class initializers {
  public:
    template <class Value>
    void add(const char* name, const Value& value, const Value& by_default) {
        if (value != by_default)
            text_ += (text_.empty() ? "." : ", .") + assignment(name, value);
    }
    void always(const char* name, int value) {
        text_ += (text_.empty() ? "." : ", .") + assignment(name, value);
    }
    std::string finish() && { return "{" + text_ + "}"; }

  private:
    static std::string assignment(std::string name, bool value) {
        return name + (value ? " = true" : " = false");
    }
    static std::string assignment(std::string name, int value) {
        return name + " = " + std::to_string(value);
    }
    static std::string assignment(std::string name, std::uint64_t value) {
        return name + " = " + std::to_string(value);
    }
    static std::string assignment(std::string name, std::chrono::milliseconds value) {
        return name + " = std::chrono::milliseconds{" + std::to_string(value.count()) + "}";
    }

    std::string text_;
};

}  // namespace

const sweep_row& sweep_result::elbow() const {
    if (rows.empty())
        throw error(errc::invalid_option, "a sweep without rows has no elbow");
    double best = 0;
    for (const sweep_row& row : rows)
        best = std::max(best, row.samples_per_second);
    const sweep_row* fewest = nullptr;
    for (const sweep_row& row : rows) {
        const bool good_enough = row.samples_per_second >= (1 - tolerance) * best;
        if (good_enough && (!fewest || row.num_workers < fewest->num_workers))
            fewest = &row;
    }
    return *fewest;
}

double sweep_result::speed_up(const sweep_row& row) const {
    const auto fewest = std::min_element(
        rows.begin(), rows.end(),
        [](const auto& a, const auto& b) { return a.num_workers < b.num_workers; });
    if (fewest == rows.end())
        return 1;
    return row.samples_per_second / fewest->samples_per_second;
}

std::string sweep_result::table() const {
    if (rows.empty())
        return "";
    const sweep_row& best = elbow();
    std::vector<line> lines{{"workers", "s/epoch", "spread", "samples/s", "speed-up", "workers MB",
                             "batches MB", "workers CPU s", "main CPU s", ""}};
    for (const sweep_row& row : rows) {
        const double spread =
            50 * (row.slowest_seconds - row.fastest_seconds) / row.seconds_per_epoch;
        const bool has_workers = row.num_workers > 0;
        lines.push_back(
            {std::to_string(row.num_workers), seconds(row.seconds_per_epoch),
             "±" + fixed(spread, 0) + "%", with_commas(row.samples_per_second),
             fixed(speed_up(row), 2), has_workers ? megabytes(row.worker_bytes) : "-",
             megabytes(row.shared_bytes),
             has_workers && row.worker_cpu_seconds ? seconds(*row.worker_cpu_seconds) : "-",
             seconds(row.main_cpu_seconds), &row == &best ? "<- elbow" : ""});
    }
    return aligned(lines) + "elbow: " + workers(best.num_workers) + ", the fewest within " +
           fixed(100 * tolerance, 0) + " % of the best samples/s\n";
}

std::string sweep_result::paste() const {
    initializers text;
    if (!options) {
        text.always("num_workers", elbow().num_workers);
        return std::move(text).finish();
    }
    const loader_options by_default{};
    const loader_options& chosen = *options;
    text.add("batch_size", chosen.batch_size, by_default.batch_size);
    text.add("shuffle", chosen.shuffle, by_default.shuffle);
    text.always("num_workers", elbow().num_workers);
    text.add("drop_last", chosen.drop_last, by_default.drop_last);
    text.add("timeout", chosen.timeout, by_default.timeout);
    text.add("prefetch_factor", chosen.prefetch_factor, by_default.prefetch_factor);
    text.add("persistent_workers", chosen.persistent_workers, by_default.persistent_workers);
    text.add("in_order", chosen.in_order, by_default.in_order);
    text.add("seed", chosen.seed, by_default.seed);
    text.add("memory_limit_bytes", chosen.memory_limit_bytes, by_default.memory_limit_bytes);
    text.add("worker_threads", chosen.worker_threads, by_default.worker_threads);
    return std::move(text).finish();  // not `epochs`, which was the sweep's
}

}  // namespace stoker
