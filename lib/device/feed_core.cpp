// What a feed is made of on the device, and how it ends. How a batch travels is in
// feed_submission.cpp, how its consumers are waited for in feed_release.cpp.

#include "device/feed_core.hpp"

#include <algorithm>
#include <utility>

#include <stoker/core/error.hpp>

namespace stoker::detail {

namespace {

constexpr std::size_t staging_buffers = 2;
/// Kernels load whole words, which may lie this far beyond the last column.
constexpr std::uint64_t read_beyond = 16;

void check_range(const char* option, int value, int least, int most) {
    if (value < least || value > most) {
        throw error(errc::invalid_option, std::string(option) + " is " + std::to_string(value) +
                                              ", not in " + std::to_string(least) + " to " +
                                              std::to_string(most));
    }
}

}  // namespace

feed_core::feed_core(feed_parts_erased& parts)
    : calls_(*parts.target),
      options_(parts.options),
      edges_(parts.edges),
      preparation_(std::move(parts.prepared)) {
    check_range("depth", options_.depth, 1, 64);
    check_range("hold", options_.hold, 1, 64);
    calls_.target().require_own_process();
    const device_scope scope(calls_);
    try {
        pins_ = std::make_unique<pinned_slots>(calls_, *parts.loader, options_.pin_memory);
        plan_memory(parts);
        make_device_side();
    } catch (...) {
        clean_up();
        throw;
    }
}

feed_core::~feed_core() {
    if (::getpid() != process_) {
        // A fork of the host: threads and CUDA are its parent's, and nothing here can be ended.
        static_cast<void>(waiter_.release());
        static_cast<void>(pins_.release());
        static_cast<void>(bounce_.release());
        return;
    }
    const device_scope scope(calls_);
    clean_up();
}

void feed_core::tell(const std::string& text) const {
    if (options_.on_notice)
        options_.on_notice(text);
}

/// How large buffers are, and how many there can be.
void feed_core::plan_memory(const feed_parts_erased& parts) {
    const slot_memory& slots = pins_->slots();
    std::uint64_t prepared_bytes = slots.known_bytes;
    if (preparation_ && slots.known_bytes > 0) {
        std::vector<column_record> from(parts.columns.columns.size());
        std::vector<column_record> to(preparation_->column_count());
        static_cast<void>(parts.columns.lay_out(slots.most_samples, from.data()));
        prepared_bytes = preparation_->lay_out(from.data(), to.data());
        staging_bytes_ = slots.known_bytes + read_beyond;
    }
    output_bytes_ = prepared_bytes;
    depth_ = static_cast<std::size_t>(options_.depth);
    if (options_.memory_limit_bytes == 0)
        return;
    const auto hold = static_cast<std::uint64_t>(options_.hold);
    const std::uint64_t stagings = preparation_ ? staging_buffers * staging_bytes_ : 0;
    const auto needed = [&](std::uint64_t depth) {
        return (depth + hold) * output_bytes_ + stagings;
    };
    while (depth_ > 1 && needed(depth_) > options_.memory_limit_bytes)
        --depth_;
    if (needed(depth_) > options_.memory_limit_bytes) {
        throw error(errc::memory_limit,
                    "the feed needs " + std::to_string(needed(depth_)) +
                        " bytes of device memory at a depth of 1, memory_limit_bytes is " +
                        std::to_string(options_.memory_limit_bytes));
    }
    if (depth_ < static_cast<std::size_t>(options_.depth)) {
        tell("depth was lowered from " + std::to_string(options_.depth) + " to " +
             std::to_string(depth_) + " to fit memory_limit_bytes");
    }
}

void feed_core::make_device_side() {
    const cuda_table& table = calls_.table();
    int least = 0;
    int greatest = 0;
    check(table.stream_priorities(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
    // First in line, so that a step's many kernels do not delay the next batch.
    copy_stream_ = calls_.make_stream(greatest);
    if (preparation_)
        prep_stream_ = calls_.make_stream(greatest);
    const std::size_t count = depth_ + static_cast<std::size_t>(options_.hold);
    outputs_.resize(count);
    for (output& out : outputs_) {
        allocate(out.memory, output_bytes_);
        out.ready = calls_.make_event(false);
        out.consumed.push_back(calls_.make_event(false));
        out.record.indices.reserve(pins_->slots().most_samples);
    }
    for (std::size_t number = count; number-- > 0;)
        free_.push_back(number);
    stagings_.resize(preparation_ ? staging_buffers : 0);
    for (staging& each : stagings_) {
        allocate(each.memory, staging_bytes_);
        each.copied = calls_.make_event(false);
        each.prepared = calls_.make_event(false);
    }
    if (calls_.synchronous())
        return;
    for (std::size_t i = 0; i < count; ++i)
        spare_.push_back(calls_.make_event(true));
    waiter_ = std::make_unique<event_waiter>(
        calls_, [this](waiter_task& task, int code) { done(task, code); });
    if (!options_.pin_memory)
        return;
    bounce_ = std::make_unique<bounce_ring>(calls_, count);
    // Beside pinned slots only outliers need it: made when the first of them is there.
    bounces_ = bounce_->allocate(pins_->any() ? 0 : pins_->slots().known_bytes);
    if (!pins_->refusal().empty()) {
        tell(std::string("the loader's slots cannot be pinned, batches ") +
             (bounces_ ? "go through pinned buffers beside them: "
                       : "are copied from pageable memory, slowly: ") +
             pins_->refusal() + (bounces_ ? "" : "; " + bounce_->refusal()));
    }
}

void feed_core::allocate(buffer& of, std::uint64_t bytes) {
    if (bytes == 0)
        return;
    void* made = nullptr;
    check(calls_.table().allocate(&made, bytes), "cudaMalloc", std::to_string(bytes) + " bytes");
    of.fixed = static_cast<std::byte*>(made);
    of.fixed_bytes = bytes;
    counts_.device_bytes += bytes;
}

/// Drains the streams, then the waiter, then gives everything back: slots last, since nothing may
/// read them by then. Failures are of a device that has failed, and change nothing.
void feed_core::clean_up() noexcept {
    const cuda_table& table = calls_.table();
    const auto drop_event = [&](cuda_event event) {
        if (event != nullptr)
            static_cast<void>(table.destroy_event(event));
    };
    const auto drop_buffer = [&](buffer& each) {
        for (std::byte* const memory : {each.fixed, each.extra}) {
            if (memory != nullptr)
                static_cast<void>(table.deallocate(memory));
        }
    };
    for (const cuda_stream stream : {copy_stream_, prep_stream_}) {
        if (stream != nullptr)
            static_cast<void>(table.synchronize_stream(stream));
    }
    waiter_.reset();
    for (output& out : outputs_) {
        for (std::size_t i = 0; i < out.recorded; ++i)
            static_cast<void>(table.synchronize_event(out.consumed[i]));
    }
    stranded_.clear();
    for (output& out : outputs_) {
        drop_buffer(out.memory);
        drop_event(out.ready);
        std::ranges::for_each(out.consumed, drop_event);
    }
    for (staging& each : stagings_) {
        drop_buffer(each.memory);
        drop_event(each.copied);
        drop_event(each.prepared);
    }
    std::ranges::for_each(spare_, drop_event);
    bounce_.reset();
    pins_.reset();
    for (const cuda_stream stream : {copy_stream_, prep_stream_}) {
        if (stream != nullptr)
            static_cast<void>(table.destroy_stream(stream));
    }
}

feed_stats feed_core::stats() const {
    feed_stats found = counts_;
    found.depth = depth_;
    if (calls_.synchronous())
        found.mode = pinning::none;
    else if (pins_->any())
        found.mode = pinning::registered;
    else
        found.mode = bounces_ && !bounce_->is_refused() ? pinning::bounce : pinning::pageable;
    found.pinned_bytes = pins_->bytes() + (bounce_ ? bounce_->bytes() : 0);
    return found;
}

std::exception_ptr feed_core::fault() {
    if (!failed_.load())
        return nullptr;
    const std::scoped_lock lock(lock_);
    return fault_;
}

void feed_core::check(int code, const char* call, const std::string& purpose) {
    if (code != cuda_code::success)
        fail(code, call, purpose.empty() ? label_ : purpose);
}

/// For good: what a device was told and did not do cannot be known.
void feed_core::fail(int code, const char* call, const std::string& purpose) {
    try {
        calls_.fail(code, call, purpose);
    } catch (...) {
        {
            const std::scoped_lock lock(lock_);
            if (!fault_)
                fault_ = std::current_exception();
            failed_ = true;
        }
        ring_if_wanted();
        throw;
    }
}

void feed_core::ring_if_wanted() {
    if (wanted_.load() && wanted_.exchange(false))
        bell_.ring();
}

}  // namespace stoker::detail
