// Measuring a loader from outside, as a user's loop would see it.
//
// Time is that of whole epochs, read as fast as they come. The loader is told of one more epoch
// than is timed: workers run ahead over the end of an epoch when they know that another follows, so
// every timed epoch finds work done for it and does as much for the next. Were the last one not to,
// it would look faster than a long training is.
//
// Memory is looked at during the warm-up only, because reading smaps_rollup walks the page tables
// of the process and would disturb what is timed; at batches 1, 2, 4, 8, …, because workers that
// live for one epoch are gone after it, and the largest look counts. Processor time is read beside
// the timed epochs: the clocks of the workers that live, plus what the fork server has reaped.

#include <stoker/tune/sweep.hpp>

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <string>

#include <stoker/core/error.hpp>

#include "tune/process_usage.hpp"

namespace stoker::detail {
namespace {

[[noreturn]] void refuse(const std::string& option, const std::string& value,
                         const std::string& range) {
    throw error(errc::invalid_option,
                "sweep_options::" + option + " is " + value + ", expected " + range);
}

void check(const sweep_options& options) {
    if (options.num_workers.empty())
        refuse("num_workers", "empty", "at least one value");
    for (const int value : options.num_workers) {
        if (value < 0)
            refuse("num_workers", std::to_string(value), "values of 0 up");
    }
    if (options.repeats < 1)
        refuse("repeats", std::to_string(options.repeats), "1 up");
    if (options.warm_up_epochs < 1) {
        refuse("warm_up_epochs", std::to_string(options.warm_up_epochs), "1 up");
    }
    if (!(options.tolerance >= 0 && options.tolerance < 1)) {
        refuse("tolerance", std::to_string(options.tolerance), "0 up to, but not including, 1");
    }
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const std::size_t middle = values.size() / 2;
    return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::uint64_t own_shared_bytes() {
    const auto usage = memory_usage_of(::getpid());
    return usage ? usage->shared_bytes : 0;
}

/// Raises what the row says of memory to what it is now.
void look_at_memory(const sweep_subject& subject, std::uint64_t shared_before, sweep_row& row) {
    if (!subject.worker_processes)
        return;
    std::uint64_t own = 0;
    std::uint64_t shared = own_shared_bytes();
    for (const pid_t process : subject.worker_processes()) {
        const auto usage = memory_usage_of(process);
        if (!usage)
            return;  // a worker that ends while it is looked at
        own += usage->anonymous_bytes + usage->file_bytes;
        shared += usage->shared_bytes;
    }
    row.worker_bytes = std::max(row.worker_bytes.value_or(0), own);
    row.shared_bytes =
        std::max(row.shared_bytes.value_or(0), shared - std::min(shared, shared_before));
}

/// All processor time that workers have used so far; empty when not known.
std::optional<double> worker_cpu_seconds(const sweep_subject& subject) {
    if (!subject.worker_processes)
        return std::nullopt;
    double total = 0;
    for (const pid_t process : subject.worker_processes()) {
        const auto seconds = cpu_seconds_of(process);
        if (!seconds)
            return std::nullopt;
        total += *seconds;
    }
    const pid_t server = subject.fork_server_process ? subject.fork_server_process() : 0;
    return total + (server > 0 ? reaped_cpu_seconds_of(server).value_or(0) : 0);
}

void run_timed_epochs(const sweep_options& options, const sweep_subject& subject, sweep_row& row) {
    using clock = std::chrono::steady_clock;
    std::vector<double> seconds;
    std::vector<double> rates;
    const auto worker_cpu_before = worker_cpu_seconds(subject);
    const double main_cpu_before = cpu_seconds_of(::getpid()).value_or(0);
    for (int repeat = 0; repeat < options.repeats; ++repeat) {
        const auto start = clock::now();
        const std::uint64_t samples = subject.run_epoch(options.batches_per_epoch, {});
        const std::chrono::duration<double> elapsed = clock::now() - start;
        if (samples == 0) {
            throw error(errc::invalid_option,
                        "an epoch of the sweep had no samples: the factory must keep the epochs "
                        "that it is given, and its dataset must not be empty");
        }
        seconds.push_back(elapsed.count());
        rates.push_back(static_cast<double>(samples) / std::max(elapsed.count(), 1e-9));
    }
    const auto worker_cpu_after = worker_cpu_seconds(subject);
    const double epochs = options.repeats;
    row.main_cpu_seconds = (cpu_seconds_of(::getpid()).value_or(0) - main_cpu_before) / epochs;
    if (worker_cpu_before && worker_cpu_after) {
        row.worker_cpu_seconds = std::max(0.0, *worker_cpu_after - *worker_cpu_before) / epochs;
    }
    row.seconds_per_epoch = median(seconds);
    row.samples_per_second = median(rates);
    row.fastest_seconds = *std::min_element(seconds.begin(), seconds.end());
    row.slowest_seconds = *std::max_element(seconds.begin(), seconds.end());
}

}  // namespace

sweeper::sweeper(sweep_options options) : options_(std::move(options)) {
    check(options_);
    result_.tolerance = options_.tolerance;
}

loader_options sweeper::begin(int num_workers) {
    current_ = num_workers;
    shared_bytes_before_ = own_shared_bytes();
    loader_options given{};
    given.num_workers = num_workers;
    given.epochs = options_.warm_up_epochs + options_.repeats + 1;
    return given;
}

void sweeper::measure(const sweep_subject& subject) {
    sweep_row row{};
    row.num_workers = current_;
    std::uint64_t batches = 0;
    const auto look = [&] {
        ++batches;
        if (std::has_single_bit(batches))
            look_at_memory(subject, shared_bytes_before_, row);
    };
    for (int epoch = 0; epoch < options_.warm_up_epochs; ++epoch) {
        batches = 0;
        subject.run_epoch(options_.batches_per_epoch, look);
    }
    run_timed_epochs(options_, subject, row);
    loader_options_.push_back(subject.options ? std::optional{subject.options()} : std::nullopt);
    result_.rows.push_back(row);
    if (options_.on_row)
        options_.on_row(result_.rows.back());
}

sweep_result sweeper::finish() && {
    const auto elbow = static_cast<std::size_t>(&result_.elbow() - result_.rows.data());
    result_.options = loader_options_[elbow];
    return std::move(result_);
}

}  // namespace stoker::detail
