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

std::string literal(bool value) {
    return value ? "true" : "false";
}

std::string literal(int value) {
    return std::to_string(value);
}

std::string literal(std::uint64_t value) {
    return std::to_string(value);
}

std::string literal(std::chrono::milliseconds value) {
    return "std::chrono::milliseconds{" + std::to_string(value.count()) + "}";
}

std::string literal(on_bad value) {
    switch (value) {
        case on_bad::fail:
            return "stoker::on_bad::fail";
        case on_bad::skip:
            return "stoker::on_bad::skip";
        case on_bad::replace:
            return "stoker::on_bad::replace";
    }
    return "";
}

std::string literal(restart value) {
    switch (value) {
        case restart::never:
            return "stoker::restart::never";
        case restart::on_failure:
            return "stoker::restart::on_failure";
        case restart::always:
            return "stoker::restart::always";
    }
    return "";
}

std::string literal(const std::string& value) {
    std::string text = "\"";
    for (const char letter : value) {
        if (letter == '"' || letter == '\\')
            text += '\\';
        if (static_cast<unsigned char>(letter) >= ' ') {
            text += letter;
            continue;
        }
        std::array<char, 8> octal{};
        std::snprintf(octal.data(), octal.size(), "\\%03o", static_cast<unsigned>(letter));
        text += octal.data();
    }
    return text + '"';
}

/// Whether an option is among what is pasted.
enum class named { where_it_differs, always, never };

/// One of the options as a designated initializer.
struct option_field {
    const char* name;
    named when;
    bool (*same)(const loader_options& left, const loader_options& right);
    std::string (*value)(const loader_options& from);
};

template <auto Member>
constexpr option_field field(const char* name, named when = named::where_it_differs) {
    return {name, when,
            [](const loader_options& left, const loader_options& right) {
                return left.*Member == right.*Member;
            },
            [](const loader_options& from) { return literal(from.*Member); }};
}

using options = loader_options;

/// All of them, in the order that designators must have; the test counts them. `epochs` was the
/// sweep's.
constexpr std::array option_fields{field<&options::batch_size>("batch_size"),
                                   field<&options::shuffle>("shuffle"),
                                   field<&options::num_workers>("num_workers", named::always),
                                   field<&options::in_flight>("in_flight"),
                                   field<&options::drop_last>("drop_last"),
                                   field<&options::timeout>("timeout"),
                                   field<&options::sample_timeout>("sample_timeout"),
                                   field<&options::on_bad>("on_bad"),
                                   field<&options::prefetch_factor>("prefetch_factor"),
                                   field<&options::persistent_workers>("persistent_workers"),
                                   field<&options::in_order>("in_order"),
                                   field<&options::seed>("seed"),
                                   field<&options::epochs>("epochs", named::never),
                                   field<&options::restart_workers>("restart_workers"),
                                   field<&options::max_restarts>("max_restarts"),
                                   field<&options::restart_window>("restart_window"),
                                   field<&options::memory_limit_bytes>("memory_limit_bytes"),
                                   field<&options::worker_threads>("worker_threads"),
                                   field<&options::name>("name"),
                                   field<&options::fork_with_threads>("fork_with_threads")};

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
    const loader_options by_default{};
    loader_options chosen = options.value_or(by_default);
    chosen.num_workers = elbow().num_workers;
    std::string text;
    for (const option_field& each : option_fields) {
        if (each.when == named::never ||
            (each.when == named::where_it_differs && each.same(chosen, by_default)))
            continue;
        text += std::string(text.empty() ? "." : ", .") + each.name + " = " + each.value(chosen);
    }
    return "{" + text + "}";
}

}  // namespace stoker
