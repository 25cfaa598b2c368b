// One batch, from a task to a result. Whatever goes wrong on the way ends as a report in the slot,
// because a worker has nobody else to tell, and because the caller must see the same error whether
// the batch was made here or in another process.

#include "worker/batch_maker.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "worker/error_report.hpp"

namespace stoker::detail {
namespace {

/// A slot as the fetcher sees it: more of it is populated as it asks for more.
class slot_memory final : public batch_memory {
  public:
    slot_memory(const slab& slots, std::uint32_t slot) : slots_(slots), slot_(slot) {}

    std::byte* data(std::uint64_t bytes) override {
        const std::uint64_t limit = slots_.geometry().data_limit;
        if (bytes > limit) {
            throw error(errc::batch_too_large, "a batch needs " + std::to_string(bytes) +
                                                   " bytes, and a slot holds at most " +
                                                   std::to_string(limit));
        }
        slots_.populate(slot_, slots_.geometry().data_offset + bytes);
        return slots_.data(slot_);
    }

  private:
    const slab& slots_;
    std::uint32_t slot_;
};

/// Remembers the sample that is being made, for the report.
class remembering_monitor final : public fetch_monitor {
  public:
    explicit remembering_monitor(fetch_monitor& next) : next_(next) {}

    void begin_sample(index sample) noexcept override {
        sample_ = sample;
        errno = 0;  // a report may have to tell it: let it be of this sample
        next_.begin_sample(sample);
    }
    void end_sample(index sample) noexcept override { next_.end_sample(sample); }
    bool abandoned() const noexcept override { return next_.abandoned(); }
    std::optional<index> sample() const noexcept { return sample_; }

  private:
    fetch_monitor& next_;
    std::optional<index> sample_;
};

/// Errors of the batch as a whole: the sample that happened to come last has no part in them.
bool concerns_batch(errc code) {
    return code == errc::shape_mismatch || code == errc::collate_failed ||
           code == errc::batch_too_large || code == errc::memory_limit;
}

fetch_task describe_task(const slab& slots, const task_message& task,
                         const batch_maker_settings& settings) {
    const slot_geometry& geometry = slots.geometry();
    if (task.slot >= geometry.slot_count || task.index_count > geometry.index_capacity)
        throw error(errc::protocol, "a task names memory that its loader does not have");
    fetch_task batch;
    batch.indices = {slots.indices(task.slot), task.index_count};
    batch.seed = settings.seed;
    batch.epoch = task.epoch;
    batch.first_position = task.first_position;
    batch.worker = settings.worker;
    batch.num_workers = settings.num_workers;
    batch.words = {slots.indices(task.slot), geometry.index_words};
    return batch;
}

std::uint64_t make(fetcher& source, const slab& slots, const task_message& task,
                   const batch_maker_settings& settings, fetch_monitor& monitor) {
    slot_memory memory(slots, task.slot);
    return source.fetch(describe_task(slots, task, settings), memory, slots.records(task.slot),
                        monitor);
}

result_message answer(const task_message& task, result_status status, std::uint64_t bytes) {
    result_message result;
    result.sequence = task.sequence;
    result.data_bytes = bytes;
    result.slot = task.slot;
    result.status = static_cast<std::uint32_t>(status);
    return result;
}

result_message report(const slab& slots, const task_message& task,
                      const batch_maker_settings& settings, std::optional<index> sample,
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
    return fail_batch(slots, task, details);
}

/// Errors may be longer than the known part of a slot: its whole extent is there for them. The
/// limit keeps main from copying whatever a scribbling worker says.
std::uint64_t report_room(const slot_geometry& geometry) {
    constexpr std::uint64_t most = std::uint64_t{16} << 20;
    return std::min(most, geometry.data_capacity());
}

}  // namespace

result_message make_batch(fetcher& source, const slab& slots, const task_message& task,
                          const batch_maker_settings& settings, fetch_monitor& monitor) noexcept {
    remembering_monitor remembering(monitor);
    try {
        const std::uint64_t bytes = make(source, slots, task, settings, remembering);
        if (monitor.abandoned())
            return answer(task, result_status::dropped, 0);
        return answer(task, result_status::ready, bytes);
    } catch (...) {
        if (monitor.abandoned())
            return answer(task, result_status::dropped, 0);
        return report(slots, task, settings, remembering.sample(), std::current_exception());
    }
}

boost::asio::awaitable<result_message> make_batch_waiting(fetcher& source, const slab& slots,
                                                          const task_message& task,
                                                          const batch_maker_settings& settings,
                                                          fetch_monitor& monitor,
                                                          const fetch_limits& limits) {
    std::exception_ptr failure;
    std::uint64_t bytes = 0;
    try {
        const fetch_task batch = describe_task(slots, task, settings);
        slot_memory memory(slots, task.slot);
        bytes =
            co_await source.async_fetch(batch, memory, slots.records(task.slot), monitor, limits);
    } catch (...) {
        failure = std::current_exception();
    }
    if (monitor.abandoned())
        co_return answer(task, result_status::dropped, 0);
    errno = 0;  // of whichever coroutine came last, not of the one that failed
    if (failure)
        co_return report(slots, task, settings, std::nullopt, failure);
    co_return answer(task, result_status::ready, bytes);
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
