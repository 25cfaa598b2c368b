#pragma once

#include <sys/types.h>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>

#include <stoker/collate/fetcher.hpp>
#include <stoker/loader/bad_sample.hpp>
#include <stoker/loader/lease.hpp>
#include <stoker/loader/loader_options.hpp>
#include <stoker/loader/memory_use.hpp>
#include <stoker/loader/skipped_samples.hpp>
#include <stoker/sampler/index_source.hpp>

namespace stoker::detail {

struct fetcher_recipe;

/// What a loader is made of, with the types taken away.
struct engine_parts {
    std::unique_ptr<fetcher> source{};       ///< null when a fork server builds the dataset
    const fetcher_recipe* recipe = nullptr;  ///< how it does; borrowed during construction
    schema columns{};
    loader_options options{};
    bool has_sampler = false;        ///< a sampler part was given
    bool has_batch_sampler = false;  ///< a batch sampler part was given
    bool waits = false;              ///< the dataset has coroutines
    /// Names another sample for a bad one; empty: no replace_bad part was given.
    std::function<index(bad_sample&)> replacement{};
    int replacement_attempts = 0;
    /// The order, made once the dataset's size is known.
    std::function<std::unique_ptr<index_source>(std::uint64_t size)> make_order{};
};

/// What came of asking for a batch.
enum class outcome {
    batch,    ///< there is one
    end,      ///< the epoch has ended, or all announced epochs have
    pending,  ///< not yet: wait
};

/// Where a loader's slots lie in this process: for those who pin them.
struct slot_memory {
    std::shared_ptr<const void> owner{};  ///< keeps them mapped
    std::byte* base = nullptr;            ///< of slot 0; the others follow, `slot_bytes` apart
    std::uint64_t slot_count = 0;
    std::uint64_t slot_bytes = 0;
    std::uint64_t data_offset = 0;   ///< of a batch's first column from its slot's start
    std::uint64_t known_bytes = 0;   ///< of columns that a full batch is known to need; 0: unknown
    std::uint64_t known_prefix = 0;  ///< whole pages from a slot's start that are never given back
    std::uint64_t most_samples = 0;  ///< in a batch
};

/// The machinery of a loader, compiled once. Lives as long as the loader or a pending operation.
///
/// Thread safety: one thread or strand at a time.
class engine : public std::enable_shared_from_this<engine> {
  public:
    using handler = boost::asio::any_completion_handler<void(std::exception_ptr, lease)>;

    static std::shared_ptr<engine> make(engine_parts parts);
    ~engine();

    /// Completes on `executor`, never inside this call. Refused (errc::busy) while one is pending.
    void async_next(boost::asio::any_io_executor executor, handler completion);
    /// Waits in this thread. Throws; an empty lease is the end.
    lease next_blocking();
    /// Never waits, makes no system call; `pending` when nothing is ready. Throws.
    outcome try_next(lease& batch);
    bool ready();

    void restart();
    void restart(std::uint64_t epoch);

    std::uint64_t size() const;
    std::optional<std::uint64_t> length() const;
    const loader_options& options() const;
    memory_use memory() const;
    std::vector<pid_t> worker_processes();
    pid_t fork_server_process() const;
    const skipped_samples& skipped() const;
    slot_memory slots() const;
    /// Makes sure of the known prefix of every slot, in this process too. Throws.
    void populate_slots() const;

    /// Ends the workers and fails a pending operation; the loader's destructor.
    void close() noexcept;

  private:
    class machine;  // lib/loader/machine.hpp
    class busy_mark;
    struct next_operation;
    struct waiter;

    explicit engine(std::unique_ptr<machine> parts);
    void refuse_when_pending() const;

    std::unique_ptr<machine> machine_;
    std::unique_ptr<waiter> waiter_;
};

}  // namespace stoker::detail
