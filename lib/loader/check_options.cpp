// PyTorch finds some bad mixes late, as assertions in the middle of iteration. Here all options are
// looked at together, before anything is forked, and all complaints come in one error.

#include "loader/check_options.hpp"

#include <string>

#include <stoker/core/error.hpp>

namespace stoker::detail {

namespace {

constexpr long max_workers = 4096;
constexpr long max_tasks = 1 << 20;  ///< num_workers × prefetch_factor
constexpr long max_in_flight = 1 << 16;
constexpr long max_batch_size = 1 << 30;
constexpr long max_milliseconds = std::chrono::milliseconds(std::chrono::hours(24 * 365)).count();
constexpr long max_threads = 4096;
constexpr long max_attempts = 1000;

class complaints {
  public:
    void expect_range(const char* option, long value, long low, long high) {
        if (value >= low && value <= high)
            return;
        add(std::string(option) + " is " + std::to_string(value) + ", it must be from " +
            std::to_string(low) + " to " + std::to_string(high));
    }
    void expect(bool good, const std::string& complaint) {
        if (!good)
            add(complaint);
    }
    void throw_if_any() const {
        if (!text_.empty())
            throw error(errc::invalid_option, text_);
    }

  private:
    void add(const std::string& complaint) {
        if (!text_.empty())
            text_ += "; ";
        text_ += complaint;
    }
    std::string text_;
};

}  // namespace

void check_options(const loader_options& options, bool has_sampler, bool has_batch_sampler) {
    complaints all;
    all.expect_range("batch_size", options.batch_size, 1, max_batch_size);
    all.expect_range("num_workers", options.num_workers, 0, max_workers);
    all.expect_range("in_flight", options.in_flight, 1, max_in_flight);
    all.expect_range("prefetch_factor", options.prefetch_factor, 1, max_tasks);
    all.expect_range("timeout (milliseconds)", options.timeout.count(), 0, max_milliseconds);
    all.expect_range("sample_timeout (milliseconds)", options.sample_timeout.count(), 0,
                     max_milliseconds);
    all.expect_range("on_bad", static_cast<long>(options.on_bad), 0,
                     static_cast<long>(on_bad::replace));
    all.expect_range("restart_workers", static_cast<long>(options.restart_workers), 0,
                     static_cast<long>(restart::always));
    all.expect_range("max_restarts", options.max_restarts, 0, max_tasks);
    all.expect_range("restart_window (milliseconds)", options.restart_window.count(), 1,
                     max_milliseconds);
    all.expect(options.epochs >= endless,
               "epochs is " + std::to_string(options.epochs) +
                   ", it must be 0 (not announced), a count, or stoker::endless");
    all.expect_range("worker_threads", options.worker_threads, 0, max_threads);
    const long tasks = static_cast<long>(options.num_workers) * options.prefetch_factor;
    if (options.num_workers > 0 && options.prefetch_factor > 0) {
        all.expect_range("num_workers × prefetch_factor", tasks, 1, max_tasks);
    }
    all.expect(!(has_sampler && has_batch_sampler),
               "a sampler and a batch sampler were both given: give one");
    all.expect(!(has_sampler && options.shuffle),
               "shuffle was given together with a sampler, which decides the order: leave one out");
    if (has_batch_sampler) {
        all.expect(
            options.batch_size == 1 && !options.shuffle && !options.drop_last,
            "batch_size, shuffle or drop_last was given together with a batch sampler, which "
            "decides all three: leave them out");
    }
    all.throw_if_any();
}

void check_coroutines(const loader_options& options, bool waits) {
    if (waits || options.sample_timeout.count() == 0)
        return;
    throw error(errc::invalid_option,
                "sample_timeout is " + std::to_string(options.sample_timeout.count()) +
                    " ms, but the dataset makes its samples without coroutines, and nothing can "
                    "interrupt that: use timeout, or make get() an awaitable");
}

void choose_replacement(loader_options& options, bool given, int attempts) {
    complaints all;
    if (given)
        all.expect_range("replace_bad's attempts", attempts, 1, max_attempts);
    all.expect(given || options.on_bad != on_bad::replace,
               "on_bad is replace, but nothing says by what: give the loader a "
               "stoker::replace_bad after its options");
    all.expect(!given || options.on_bad != on_bad::skip,
               "on_bad is skip, but a replace_bad was given: leave one of them out");
    all.throw_if_any();
    if (given)
        options.on_bad = on_bad::replace;
}

std::exception_ptr complaint_of_empty_epoch(const loader_options& options,
                                            std::uint64_t samples_left_out) {
    if (samples_left_out > 0) {
        return std::make_exception_ptr(error(
            errc::invalid_option, "drop_last leaves no batch at all: batch_size is " +
                                      std::to_string(options.batch_size) + ", and the epoch has " +
                                      std::to_string(samples_left_out) +
                                      " samples; take a smaller batch_size or drop_last = "
                                      "false"));
    }
    if (options.epochs != endless)
        return nullptr;
    return std::make_exception_ptr(
        error(errc::invalid_dataset,
              "epochs is endless, but an epoch has no batch: the dataset or sampler is empty"));
}

}  // namespace stoker::detail
