// How a batch gets to the device. Nothing here waits: the order is told to the device, edge by
// edge.
//
//   copy stream   wait(staging was read) ▸ copy slot → staging ▸ record ─────────┐
//   prep stream   wait(output's consumers) ▸ wait(copied) ◂──────────────────────┘
//                 ▸ prepare staging → output ▸ record(staging was read), record(ready)
//   waiter        sleeps until the copy has ended ▸ gives the slot back
//
// Without a preparation the copy goes straight to the output, behind its consumers.

#include <algorithm>
#include <cstring>
#include <utility>

#include <stoker/core/error.hpp>
#include "core/profile_range.hpp"
#include "device/feed_core.hpp"

namespace stoker::detail {

/// The prep stream, for one batch.
class feed_core::prep_queue final : public kernel_queue {
  public:
    explicit prep_queue(feed_core& core) : core_(core) {}

    void launch(const kernel_call& call) override {
        const int code = core_.calls_.table().launch(call, core_.prep_stream_);
        if (code != cuda_code::success)
            core_.fail(code, "cudaLaunchKernel", std::string(call.name) + " of " + core_.label_);
    }
    void copy(std::byte* to, const std::byte* from, std::uint64_t bytes) override {
        if (bytes == 0)
            return;
        core_.check(core_.calls_.table().copy_on(to, from, bytes, cuda_flag::copy_device_to_device,
                                                 core_.prep_stream_),
                    "cudaMemcpyAsync");
    }

  private:
    feed_core& core_;
};

bool feed_core::needs_bounce(std::uint64_t bytes) const {
    return bounces_ && bytes > 0 && !pins_->covers(bytes);
}

bool feed_core::can_submit() {
    if (!pins_->any() && bounces_ && !bounce_->any_free())
        return false;
    const std::scoped_lock lock(lock_);
    return !free_.empty();
}

std::uint64_t feed_core::held() {
    const std::scoped_lock lock(lock_);
    return outputs_.size() - free_.size();
}

std::size_t feed_core::take_output() {
    const std::scoped_lock lock(lock_);
    // The one that was given back first: its consumers are the furthest.
    const std::size_t number = free_.front();
    free_.erase(free_.begin());
    return number;
}

std::optional<feed_core::source> feed_core::find_source(const slot_record& batch) {
    source from{batch.data, batch.bytes};
    if (!needs_bounce(batch.bytes)) {
        if (!calls_.synchronous() && batch.bytes > 0 && !pins_->covers(batch.bytes))
            ++counts_.pageable;
        return from;
    }
    const int taken = bounce_->acquire();
    if (taken < 0)
        return std::nullopt;
    std::byte* const memory = bounce_->memory(taken, batch.bytes);
    if (memory == nullptr) {
        bounce_->give_back(taken);
        if (++counts_.pageable == 1)
            tell("a batch is copied from pageable memory, slowly: " + bounce_->refusal());
        return from;
    }
    std::memcpy(memory, batch.data, batch.bytes);
    ++counts_.bounced;
    from.memory = memory;
    from.bounce = taken;
    return from;
}

std::optional<device_lease> feed_core::submit(lease& batch) {
    if (const std::exception_ptr broken = fault())
        std::rethrow_exception(broken);
    const device_scope scope(calls_);
    const slot_record& record = batch.record();
    label_ = "batch " + std::to_string(record.number) + " of epoch " + std::to_string(record.epoch);
    std::optional<source> from = find_source(record);
    if (!from)
        return std::nullopt;
    const std::size_t number = take_output();
    output& out = outputs_[number];
    try {
        describe(out, record);
        send(out, batch, *from);
    } catch (...) {
        // A copy may be under way where the device has failed: then nothing is used again.
        if (failed_.load()) {
            stranded_.push_back(std::move(batch));
        } else {
            if (from->bounce >= 0)
                bounce_->give_back(from->bounce);
            batch = {};
            free_output(number);
        }
        throw;
    }
    ++counts_.batches;
    return device_lease(shared_from_this(), number, out.record);
}

/// What is known of the batch, kept by the output: the slot will be gone.
void feed_core::describe(output& out, const slot_record& batch) {
    device_record& kept = out.record;
    kept.indices.assign(batch.indices.begin(), batch.indices.end());
    kept.epoch = batch.epoch;
    kept.number = batch.number;
    if (preparation_) {
        kept.records.resize(preparation_->column_count());
        kept.bytes = preparation_->lay_out(batch.records.data(), kept.records.data());
    } else {
        kept.records = batch.records;
        kept.bytes = batch.bytes;
    }
}

void feed_core::send(output& out, lease& batch, source& from) {
    const cuda_table& table = calls_.table();
    if (!preparation_) {
        wait_for_consumers(out, copy_stream_);
        out.record.data = memory_for(out.memory, out.record.bytes, copy_stream_);
        copy(out.record.data, from, batch);
        check(table.record_event(out.ready, copy_stream_), "cudaEventRecord");
        return;
    }
    staging& stage = stagings_[next_staging_];
    next_staging_ = (next_staging_ + 1) % stagings_.size();
    if (edges_.staging_after_preparation)
        check(table.wait_event(copy_stream_, stage.prepared, 0), "cudaStreamWaitEvent");
    std::byte* const staged = memory_for(stage.memory, from.bytes + 16, copy_stream_);
    wait_for_consumers(out, prep_stream_);
    out.record.data = memory_for(out.memory, out.record.bytes, prep_stream_);
    const std::vector<column_record> records = batch.record().records;  // the slot may go
    copy(staged, from, batch);
    check(table.record_event(stage.copied, copy_stream_), "cudaEventRecord");
    if (edges_.preparation_after_copy)
        check(table.wait_event(prep_stream_, stage.copied, 0), "cudaStreamWaitEvent");
    const profile_range preparing("prepare", out.record.number);
    prep_queue queue(*this);
    preparation_->enqueue(queue, {staged, records.data()},
                          {out.record.data, out.record.records.data()});
    check(table.record_event(stage.prepared, prep_stream_), "cudaEventRecord");
    check(table.record_event(out.ready, prep_stream_), "cudaEventRecord");
}

/// The one copy of a batch, its columns being contiguous; the waiter gives back where it read.
void feed_core::copy(std::byte* to, source& from, lease& batch) {
    const cuda_table& table = calls_.table();
    waiter_task task;
    task.copying = profile_range("copy", batch.record().number);
    if (!calls_.synchronous() && from.bytes > 0)
        task.event = take_event();  // first: once the copy is under way nothing else may fail
    if (from.bytes > 0) {
        check(table.copy_on(to, from.memory, from.bytes, cuda_flag::copy_host_to_device,
                            copy_stream_),
              "cudaMemcpyAsync");
        ++counts_.copies;
        counts_.copied_bytes += from.bytes;
    }
    if (calls_.synchronous() || from.bytes == 0) {
        batch = {};
        return;
    }
    task.purpose = label_;
    check(table.record_event(task.event, copy_stream_), "cudaEventRecord");
    if (from.bounce >= 0) {
        if (edges_.bounce_after_copy)
            task.bounce = from.bounce;
        else
            bounce_->give_back(from.bounce);
        from.bounce = -1;  // the waiter's now
    } else if (edges_.slot_after_copy) {
        task.slot = std::move(batch);
    }
    batch = {};  // a bounced one was read already
    waiter_->add(std::move(task));
}

cuda_event feed_core::take_event() {
    {
        const std::scoped_lock lock(lock_);
        if (!spare_.empty()) {
            const cuda_event taken = spare_.back();
            spare_.pop_back();
            return taken;
        }
    }
    return calls_.make_event(true);
}

/// Memory that is not enough is replaced in the stream's order: behind whoever still uses it.
std::byte* feed_core::memory_for(buffer& of, std::uint64_t bytes, cuda_stream stream) {
    if (bytes <= of.fixed_bytes)
        return of.fixed;
    if (bytes <= of.extra_bytes)
        return of.extra;
    std::uint64_t wanted = bytes + bytes / 2;
    const std::uint64_t others = counts_.device_bytes - of.extra_bytes;
    const std::uint64_t limit = options_.memory_limit_bytes;
    if (limit != 0 && others + wanted > limit)
        wanted = bytes;
    if (limit != 0 && others + wanted > limit) {
        throw error(errc::memory_limit, label_ + " needs " + std::to_string(bytes) +
                                            " bytes of device memory, which memory_limit_bytes "
                                            "does not leave");
    }
    const cuda_table& table = calls_.table();
    if (of.extra != nullptr) {
        check(table.deallocate_on(std::exchange(of.extra, nullptr), stream), "cudaFreeAsync");
        counts_.device_bytes -= std::exchange(of.extra_bytes, 0);
    }
    void* made = nullptr;
    const int code = table.allocate_on(&made, wanted, stream);
    if (code != cuda_code::success)  // costs this batch alone
        calls_.fail(code, "cudaMallocAsync", label_ + ", " + std::to_string(wanted) + " bytes");
    of.extra = static_cast<std::byte*>(made);
    of.extra_bytes = wanted;
    counts_.device_bytes += wanted;
    ++counts_.growths;
    return of.extra;
}

}  // namespace stoker::detail
