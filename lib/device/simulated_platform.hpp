#pragma once
// A machine with GPUs that is none: devices whose streams are threads, so that what reads too early
// or too late reads wrong bytes, by chance on hardware, here as a rule. For tests and benchmarks.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "device/cuda_table.hpp"
#include "device/simulated_stream.hpp"

namespace stoker::detail {

/// How the simulated machine is.
struct simulation {
    int devices = 1;
    std::uint64_t seed = 1;
    /// Each copy and kernel begins up to this much later than it might.
    std::chrono::microseconds longest_delay{2000};
    /// What copies between host and device take beyond that; 0: no time at all.
    std::uint64_t bytes_per_second = 0;
};

/// What crossed the bus.
struct simulated_traffic {
    std::uint64_t host_to_device_copies = 0;
    std::uint64_t host_to_device_bytes = 0;
    std::uint64_t pageable_copies = 0;  ///< of these, from memory that was not pinned
};

/// One such machine; one at a time exists. Made before, and destroyed after, whatever uses
/// `table()`.
///
/// Thread safety: all members from any thread.
class simulated_platform {
  public:
    explicit simulated_platform(simulation how = {});
    simulated_platform(const simulated_platform&) = delete;
    simulated_platform& operator=(const simulated_platform&) = delete;
    ~simulated_platform();

    static const cuda_table& table();

    /// The next call of the entry with CUDA's name ("cudaMemcpyAsync"), after `after` more that
    /// work, gives `code`, `times` times over; sticky: from then on every call does.
    void fail(std::string_view entry, int code, int after = 0, int times = 1, bool sticky = false);
    /// Runs on a stream, as late as a kernel may.
    void enqueue(cuda_stream stream, std::function<void()> kernel,
                 std::chrono::nanoseconds takes = {});
    /// As cudaStreamBeginCapture by this thread; ended by `end_capture`.
    void begin_capture(cuda_stream stream, int mode);
    /// False when a call of another thread broke it.
    bool end_capture(cuda_stream stream);

    simulated_traffic traffic() const;
    /// What the code under test must never do, in words; empty: it did nothing of that.
    std::vector<std::string> violations() const;
    /// Whether a call was made with that device as the thread's current one.
    bool touched(int ordinal) const;
    /// Memory, registrations, streams and events that exist now.
    std::size_t leftovers() const;

    // The table's entries, as in CUDA.
    int enter(const char* entry, bool unsafe_in_capture = false);
    int device_count() const { return how_.devices; }
    int allocate(void** memory, std::size_t bytes);
    int deallocate(void* memory, const char* entry);
    int allocate_on(void** memory, std::size_t bytes, cuda_stream stream);
    int deallocate_on(void* memory, cuda_stream stream);
    int allocate_host(void** memory, std::size_t bytes);
    int register_host(void* memory, std::size_t bytes);
    int unregister_host(void* memory);
    int create_stream(cuda_stream* stream);
    int destroy_stream(cuda_stream stream);
    int synchronize_stream(cuda_stream stream);
    int synchronize_device();
    int wait_event(cuda_stream stream, cuda_event event);
    int capture_status(cuda_stream stream, int* status);
    int create_event(cuda_event* event, unsigned flags);
    int destroy_event(cuda_event event);
    int record_event(cuda_event event, cuda_stream stream);
    int query_event(cuda_event event);
    int synchronize_event(cuda_event event);
    int copy_on(void* to, const void* from, std::size_t bytes, int kind, cuda_stream stream);
    int launch(const kernel_call& call, cuda_stream stream);

    static simulated_platform* current();

  private:
    enum class memory_kind { device, host, registered };
    struct block {
        std::size_t bytes = 0;
        memory_kind kind{};
    };
    struct event {
        std::atomic<simulated_stamp*> latest{nullptr};
        std::atomic<int> waiters{0};  ///< threads asleep in cudaEventSynchronize
        unsigned flags = 0;
        int ordinal = 0;
    };
    /// A copy that may be under way, for traps.
    struct flight {
        const std::byte* begin = nullptr;
        const std::byte* end = nullptr;
        const simulated_stamp* done = nullptr;
    };
    struct planned_fault {
        std::string entry;
        int code = 0;
        int after = 0;
        int times = 1;
        bool sticky = false;
    };

    simulated_stream* find(cuda_stream stream);
    static event* find(cuda_event handle) { return reinterpret_cast<event*>(handle); }
    simulated_stamp* new_stamp();
    void drain(simulated_stream& stream);
    bool breaks_a_capture();
    const block* block_around(const void* memory, std::size_t bytes, std::string& fault) const;
    bool in_flight(const void* memory, std::size_t bytes);
    void complain(std::string text);
    int take_fault(std::string_view entry);

    const simulation how_;
    mutable std::mutex lock_;
    std::map<const std::byte*, block> blocks_;
    std::map<cuda_stream, std::unique_ptr<simulated_stream>> streams_;
    /// Those that nobody makes, of a device: the legacy one and, with its thread, the per-thread
    /// one.
    std::map<std::pair<int, std::thread::id>, std::unique_ptr<simulated_stream>> implicit_streams_;
    std::set<event*> events_;
    std::deque<simulated_stamp> stamps_;
    std::deque<flight> flights_;
    std::vector<planned_fault> faults_;
    std::vector<std::string> violations_;
    simulated_traffic traffic_;
    std::uint64_t streams_made_ = 0;
    std::atomic<bool> faults_armed_{false};
    std::atomic<int> sticky_code_{0};
    std::atomic<bool> capturing_{false};
    std::atomic<bool> capture_broken_{false};
    std::atomic<unsigned> touched_{0};
};

}  // namespace stoker::detail
