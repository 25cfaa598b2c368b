// One batch, from a task to a result. Whatever goes wrong on the way ends as a report in the slot,
// because a worker has nobody else to tell, and because the caller must see the same error whether
// the batch was made here or in another process.

#include "worker/batch_maker.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "collate/samples_failed.hpp"
#include "core/profile_range.hpp"
#include "ipc/memory_limits.hpp"
#include "worker/error_report.hpp"
#include "worker/skip_report.hpp"

namespace stoker::detail {
namespace {

/// A slot as the fetcher sees it: more of it is populated as it asks for more.
class slot_memory final : public batch_memory {
  public:
    slot_memory(const slab& slots, std::uint32_t slot) : slots_(slots), slot_(slot) {}

    std::byte* data(std::uint64_t bytes) override {
        const std::uint64_t limit = slots_.geometry().data_limit;
        if (bytes > limit) {
            throw error(errc::batch_too_large,
                        "a batch needs " + format_bytes(bytes) + ", and a slot holds at most " +
                            format_bytes(limit) +
                            ", its share of memory_limit_bytes or of what ulimits leave");
        }
        slots_.populate(slot_, slots_.geometry().data_offset + bytes);
        return slots_.data(slot_);
    }

  private:
    const slab& slots_;
    std::uint32_t slot_;
};

/// Remembers the sample that is being made, for the report, and which one of the list it is.
class remembering_monitor final : public fetch_monitor {
  public:
    explicit remembering_monitor(fetch_monitor& next) : next_(next) {}

    void begin_sample(index sample) noexcept override {
        sample_ = sample;
        ++begun_;
        errno = 0;  // a report may have to tell it: let it be of this sample
        next_.begin_sample(sample);
    }
    void begin_batch(index first) noexcept override { next_.begin_batch(first); }
    void begin_collate() noexcept override { next_.begin_collate(); }
    void end_sample(index sample) noexcept override { next_.end_sample(sample); }
    bool abandoned() const noexcept override { return next_.abandoned(); }
    std::optional<index> sample() const noexcept { return sample_; }
    /// Samples begun, that one included.
    std::size_t begun() const noexcept { return begun_; }
    void forget() noexcept {
        sample_.reset();
        begun_ = 0;
    }

  private:
    fetch_monitor& next_;
    std::optional<index> sample_;
    std::size_t begun_ = 0;
};

/// Shows profilers a batch: "fetch" until all its samples are there, then "collate", where that is
/// a step of its own.
class marking_monitor final : public fetch_monitor {
  public:
    marking_monitor(fetch_monitor& next, std::uint64_t sequence)
        : next_(next), sequence_(sequence), now_("fetch", sequence) {}

    void begin_sample(index sample) noexcept override { next_.begin_sample(sample); }
    void begin_batch(index first) noexcept override { next_.begin_batch(first); }
    void begin_collate() noexcept override {
        now_.end();
        now_ = profile_range("collate", sequence_);
        next_.begin_collate();
    }
    void end_sample(index sample) noexcept override { next_.end_sample(sample); }
    bool abandoned() const noexcept override { return next_.abandoned(); }

  private:
    fetch_monitor& next_;
    std::uint64_t sequence_;
    profile_range now_;
};

constexpr std::size_t unknown_place = ~std::size_t{0};

/// A batch's list while samples of it are left out. Allocates only when that happens.
class remaining {
  public:
    remaining(const slab& slots, const task_message& task, const batch_maker_settings& settings)
        : slots_(slots), task_(task), settings_(settings) {
        if (fits() && task.gaps != 0 && numbers_of(slots, task.slot).size() >= task.index_count) {
            const auto numbers = numbers_of(slots, task.slot).first(task.index_count);
            numbers_.assign(numbers.begin(), numbers.end());
        }
    }

    fetch_task describe() const {
        if (!fits())
            throw error(errc::protocol, "a task names memory that its loader does not have");
        fetch_task batch;
        batch.indices = {slots_.indices(task_.slot), task_.index_count};
        if (!skipped_.empty())
            batch.indices = indices_;
        batch.seed = settings_.seed;
        batch.epoch = task_.epoch;
        batch.first_position = task_.first_position;
        batch.worker = settings_.worker;
        batch.num_workers = settings_.num_workers;
        batch.words = {slots_.indices(task_.slot), slots_.geometry().index_words};
        batch.numbers = numbers_;
        return batch;
    }
    bool empty() const { return !skipped_.empty() && indices_.empty(); }
    std::span<const error_details> skipped() const { return skipped_; }
    std::span<const std::uint64_t> numbers() const { return numbers_; }

    /// Leaves out the sample that failed; false where that is not wanted, or it is not known which.
    /// `place`: which of the list it is, or `unknown_place`.
    bool leave_out(error_details failure, std::size_t place) {
        if (!settings_.skip_bad || !failure.sample || concerns_batch(failure.code))
            return false;
        if (skipped_.empty())
            begin();
        if (place >= indices_.size() || indices_[place] != *failure.sample) {
            const auto found = std::find(indices_.begin(), indices_.end(), *failure.sample);
            place = static_cast<std::size_t>(found - indices_.begin());
        }
        if (place >= indices_.size())
            return false;
        indices_.erase(indices_.begin() + static_cast<std::ptrdiff_t>(place));
        numbers_.erase(numbers_.begin() + static_cast<std::ptrdiff_t>(place));
        skipped_.push_back(std::move(failure));
        return true;
    }

  private:
    bool fits() const {
        const slot_geometry& geometry = slots_.geometry();
        return task_.slot < geometry.slot_count && task_.index_count <= geometry.index_capacity;
    }
    void begin() {
        const index* const first = slots_.indices(task_.slot);
        indices_.assign(first, first + task_.index_count);
        for (std::uint64_t number = numbers_.size(); number < indices_.size(); ++number)
            numbers_.push_back(number);
    }

    const slab& slots_;
    const task_message& task_;
    const batch_maker_settings& settings_;
    std::vector<index> indices_{};
    std::vector<std::uint64_t> numbers_{};
    std::vector<error_details> skipped_{};
};

result_message answer(const task_message& task, result_status status, std::uint64_t bytes) {
    result_message result;
    result.sequence = task.sequence;
    result.data_bytes = bytes;
    result.slot = task.slot;
    result.status = static_cast<std::uint32_t>(status);
    return result;
}

/// Which samples a batch without room has: one of them may be what makes it large.
void name_samples(error_details& failure, const fetch_task& batch) {
    if (failure.code != errc::batch_too_large && failure.code != errc::memory_limit)
        return;
    if (batch.indices.size() == 1)
        failure.sample = batch.indices.front();
    if (batch.indices.size() < 2)
        return;
    constexpr std::size_t most_named = 8;
    failure.text += "; its samples are ";
    for (std::size_t i = 0; i < std::min(batch.indices.size(), most_named); ++i)
        failure.text += (i == 0 ? "" : ", ") + std::to_string(batch.indices[i]);
    if (batch.indices.size() > most_named)
        failure.text += " and " + std::to_string(batch.indices.size() - most_named) + " more";
}

error_details describe_failure(const batch_maker_settings& settings, std::optional<index> sample,
                               const std::exception_ptr& exception) noexcept {
    error_details details;
    try {
        details = describe(exception, errc::sample_failed);
        if (!details.sample && !concerns_batch(details.code))
            details.sample = sample;
        if (settings.num_workers > 0) {
            details.worker = settings.worker;
            details.pid = ::getpid();
        }
    } catch (...) {  // no memory left even for the words
        details.code = errc::sample_failed;
        details.sample = sample;
    }
    return details;
}

/// What lies between columns would be left over from another batch: the same samples are the same
/// bytes.
void clear_gaps(const slab& slots, std::uint32_t slot) noexcept {
    const column_record* const records = slots.records(slot);
    for (std::uint64_t next = 1; next < slots.geometry().column_count; ++next) {
        const std::uint64_t begin = records[next - 1].offset + records[next - 1].bytes;
        const std::uint64_t end = records[next].offset;
        if (begin < end && end - begin < column_alignment)
            std::memset(slots.data(slot) + begin, 0, end - begin);
    }
}

result_message ready(const slab& slots, const task_message& task, const remaining& list,
                     std::uint64_t bytes) noexcept {
    if (bytes > 0)
        clear_gaps(slots, task.slot);
    result_message result = answer(task, result_status::ready, bytes);
    result.samples = task.index_count;
    if (!list.skipped().empty())
        write_skips(slots, list.numbers(), list.skipped(), result);
    return result;
}

/// Errors may be longer than the known part of a slot: its whole extent is there for them. The
/// limit keeps main from copying whatever a scribbling worker says.
std::uint64_t report_room(const slot_geometry& geometry) {
    constexpr std::uint64_t most = std::uint64_t{16} << 20;
    return std::min(most, geometry.data_capacity());
}

/// Leaves out whatever failed in one go; gives the failure that forbids it.
std::optional<error_details> leave_out_all(remaining& list, const batch_maker_settings& settings,
                                           const std::exception_ptr& failure) {
    std::vector<failed_sample> all{{unknown_place, failure}};
    try {
        std::rethrow_exception(failure);
    } catch (const samples_failed& several) {
        all = several.all();
    } catch (...) {  // of one sample, or of the batch
    }
    std::size_t gone = 0;
    for (const failed_sample& each : all) {
        error_details details = describe_failure(settings, std::nullopt, each.failure);
        const std::size_t place = each.number == unknown_place ? unknown_place : each.number - gone;
        if (!list.leave_out(details, place))
            return details;
        ++gone;
    }
    return std::nullopt;
}

}  // namespace

bool concerns_batch(errc code) {
    return code == errc::shape_mismatch || code == errc::collate_failed ||
           code == errc::batch_too_large || code == errc::memory_limit;
}

result_message make_batch(fetcher& source, const slab& slots, const task_message& task,
                          const batch_maker_settings& settings, fetch_monitor& monitor) noexcept {
    remembering_monitor remembering(monitor);
    try {
        remaining list(slots, task, settings);
        slot_memory memory(slots, task.slot);
        for (;;) {
            marking_monitor marking(remembering, task.sequence);
            try {
                const std::uint64_t bytes =
                    list.empty()
                        ? 0
                        : source.fetch(list.describe(), memory, slots.records(task.slot), marking);
                if (monitor.abandoned())
                    return answer(task, result_status::dropped, 0);
                return ready(slots, task, list, bytes);
            } catch (...) {
                if (monitor.abandoned())
                    return answer(task, result_status::dropped, 0);
                error_details failure =
                    describe_failure(settings, remembering.sample(), std::current_exception());
                const bool known =
                    remembering.begun() > 0 && failure.sample == remembering.sample();
                const std::size_t place = known ? remembering.begun() - 1 : unknown_place;
                if (!list.leave_out(failure, place)) {
                    name_samples(failure, list.describe());
                    result_message result = fail_batch(slots, task, failure);
                    result.place = known ? static_cast<std::uint32_t>(place + 1) : 0;
                    return result;
                }
                remembering.forget();
            }
        }
    } catch (...) {
        return fail_batch(
            slots, task,
            describe_failure(settings, remembering.sample(), std::current_exception()));
    }
}

boost::asio::awaitable<result_message> make_batch_waiting(fetcher& source, const slab& slots,
                                                          const task_message& task,
                                                          const batch_maker_settings& settings,
                                                          fetch_monitor& monitor,
                                                          const fetch_limits& limits) {
    remaining list(slots, task, settings);
    slot_memory memory(slots, task.slot);
    for (;;) {
        std::exception_ptr failure;
        std::uint64_t bytes = 0;
        marking_monitor marking(monitor, task.sequence);
        try {
            const fetch_task batch = list.describe();
            if (!list.empty()) {
                bytes = co_await source.async_fetch(batch, memory, slots.records(task.slot),
                                                    marking, limits);
            }
        } catch (...) {
            failure = std::current_exception();
        }
        if (monitor.abandoned())
            co_return answer(task, result_status::dropped, 0);
        errno = 0;  // of whichever coroutine came last, not of the one that failed
        if (!failure)
            co_return ready(slots, task, list, bytes);
        std::optional<error_details> verdict = leave_out_all(list, settings, failure);
        if (verdict) {
            name_samples(*verdict, list.describe());
            co_return fail_batch(slots, task, *verdict);
        }
    }
}

result_message fail_batch(const slab& slots, const task_message& task,
                          const error_details& details) noexcept {
    if (task.slot >= slots.geometry().slot_count)
        return answer(task, result_status::failed, 0);
    const std::uint64_t room = report_room(slots.geometry());
    const std::uint64_t bytes = std::min(room, report_bytes(details));
    try {
        slots.populate(task.slot, slots.geometry().data_offset + bytes);
    } catch (...) {  // without memory there is no report, and main is told so
        return answer(task, result_status::failed, 0);
    }
    return answer(task, result_status::failed,
                  write_report({slots.data(task.slot), bytes}, details));
}

error_details read_failure(const slab& slots, const result_message& result) {
    error_details details;
    const slot_geometry& geometry = slots.geometry();
    if (result.slot >= geometry.slot_count || result.data_bytes > report_room(geometry)) {
        details.code = errc::protocol;
        details.text = "a worker's error report lies outside of its slot";
        return details;
    }
    if (result.data_bytes == 0) {
        details.code = errc::memory_limit;
        details.text = "a batch failed, and there was no memory left for the report";
        return details;
    }
    const std::byte* data = slots.data(result.slot);
    const std::vector<std::byte> copy(data, data + result.data_bytes);
    return read_report(copy);
}

}  // namespace stoker::detail
