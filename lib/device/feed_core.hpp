#pragma once
// The device side of a feed: buffers, streams and events, and the edges between them.

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <stoker/device/device_lease.hpp>
#include <stoker/device/feed_engine.hpp>
#include <stoker/loader/lease.hpp>
#include "device/bounce_ring.hpp"
#include "device/device_calls.hpp"
#include "device/event_waiter.hpp"
#include "device/pinned_slots.hpp"
#include "ipc/doorbell.hpp"

namespace stoker::detail {

/// Everything of a feed that outlives it while a batch is held. Device memory, streams and most
/// events are made at construction: to make them later would stall training, and break captures.
///
/// Thread safety: `use_on`, `release` and `abandon` of distinct outputs, and `fault`, from any
/// thread; everything else from the feed's.
class feed_core : public std::enable_shared_from_this<feed_core> {
  public:
    /// `parts` gives its preparation away. Throws error{device_failed, no_device, invalid_option,
    /// memory_limit}.
    explicit feed_core(feed_parts_erased& parts);
    feed_core(const feed_core&) = delete;
    feed_core& operator=(const feed_core&) = delete;
    /// Waits until the device is done with everything.
    ~feed_core();

    std::size_t depth() const noexcept { return depth_; }
    const device& target() const noexcept { return calls_.target(); }
    /// Whether there is a buffer for a further batch.
    bool can_submit();
    /// Enqueues a batch's way to the device, which takes no time. nullopt, with the batch left as
    /// it was, when it needs a bounce buffer and none is free. Throws; the batch is lost then, and
    /// when the device failed, every later one will be.
    std::optional<device_lease> submit(lease& batch);
    /// Rings `told` when what has been enqueued on the stream so far is done.
    void complete(const std::shared_ptr<stream_completion>& told, cuda_stream stream);

    void use_on(std::size_t output, cuda_stream stream);
    /// Somebody reads it on streams that nobody tells: at the release the device is waited for.
    void use_unordered(std::size_t output) noexcept;
    void release(std::size_t output);
    void abandon(std::size_t output) noexcept;

    /// The error for a code that `complete` told.
    std::exception_ptr failure_of(int code, const std::string& purpose) const noexcept;
    /// What made the device unusable, if anything did.
    std::exception_ptr fault();
    feed_stats stats() const;

    /// Rings when a buffer was given back or the device failed, and somebody wanted it.
    const doorbell& bell() const noexcept { return bell_; }
    void want_bell() { wanted_.store(true); }
    void count_wait() { ++counts_.waits; }
    std::uint64_t held();

  private:
    struct buffer {
        std::byte* fixed = nullptr;  ///< as large as what is known of batches
        std::uint64_t fixed_bytes = 0;
        std::byte* extra = nullptr;  ///< for larger ones
        std::uint64_t extra_bytes = 0;
    };
    /// A stream that was made to wait for a batch. The per-thread one is another on each thread.
    struct consumer {
        cuda_stream stream = nullptr;
        std::thread::id thread{};
        bool operator==(const consumer&) const = default;
    };
    struct output {
        buffer memory{};
        cuda_event ready = nullptr;
        device_record record{};
        std::vector<consumer> users{};
        bool unordered = false;              ///< and others that nobody told
        std::vector<cuda_event> consumed{};  ///< as many as it ever had users
        std::size_t recorded = 0;            ///< of these, since the last release
    };
    struct staging {
        buffer memory{};
        cuda_event copied = nullptr;
        cuda_event prepared = nullptr;
    };
    struct source {
        const std::byte* memory = nullptr;
        std::uint64_t bytes = 0;
        int bounce = -1;
    };
    class prep_queue;

    static consumer consumer_here(cuda_stream stream);
    void plan_memory(const feed_parts_erased& parts);
    void make_device_side();
    void clean_up() noexcept;
    void tell(const std::string& text) const;
    bool needs_bounce(std::uint64_t bytes) const;
    std::optional<source> find_source(const slot_record& batch);
    std::size_t take_output();
    void describe(output& out, const slot_record& batch);
    void send(output& out, lease& batch, source& from);
    void copy(std::byte* to, source& from, lease& batch);
    void wait_for_consumers(output& out, cuda_stream stream);
    std::byte* memory_for(buffer& of, std::uint64_t bytes, cuda_stream stream);
    void allocate(buffer& of, std::uint64_t bytes);
    void done(waiter_task& task, int code);
    void free_output(std::size_t number);
    void ring_if_wanted();
    cuda_event take_event();
    void check(int code, const char* call, const std::string& purpose = {});
    void fail(int code, const char* call, const std::string& purpose);

    device_calls calls_;
    const feed_options options_;
    const feed_edges edges_;
    const std::unique_ptr<preparation> preparation_;
    const pid_t process_ = ::getpid();
    doorbell bell_ = doorbell::create();
    std::unique_ptr<pinned_slots> pins_;
    std::unique_ptr<bounce_ring> bounce_;
    std::unique_ptr<event_waiter> waiter_;
    std::size_t depth_ = 1;
    std::uint64_t output_bytes_ = 0;   ///< of a full batch, as far as known
    std::uint64_t staging_bytes_ = 0;  ///< likewise, with what kernels may read beyond it
    bool bounces_ = false;             ///< there are pinned buffers
    cuda_stream copy_stream_ = nullptr;
    cuda_stream prep_stream_ = nullptr;
    std::vector<output> outputs_;
    std::vector<staging> stagings_;
    std::size_t next_staging_ = 0;
    std::string label_;  ///< the batch that is being submitted, for errors
    feed_stats counts_;
    std::vector<lease> stranded_;  ///< of batches whose copies may be under way on a failed device

    std::mutex lock_;
    std::vector<std::size_t> free_;  // guarded
    std::vector<cuda_event> spare_;  // guarded: events for the waiter
    std::exception_ptr fault_;       // guarded
    std::atomic<bool> failed_{false};
    std::atomic<bool> wanted_{false};
};

}  // namespace stoker::detail
