#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>

#include <stoker/collate/column.hpp>
#include <stoker/device/device.hpp>
#include <stoker/device/device_lease.hpp>
#include <stoker/device/feed_options.hpp>
#include <stoker/device/feed_stats.hpp>
#include <stoker/device/preparation.hpp>
#include <stoker/loader/engine.hpp>

namespace stoker::detail {

/// The edges between a feed's streams, its buffers and its user, each of which tests take away to
/// see that it is missed.
struct feed_edges {
    bool slot_after_copy = true;            ///< a host slot is given back after its copy
    bool bounce_after_copy = true;          ///< a bounce buffer is used again after its copy
    bool staging_after_preparation = true;  ///< a copy waits until its staging buffer was read
    bool preparation_after_copy = true;     ///< the preparation waits for the copy
    bool write_after_consumers = true;      ///< whoever writes an output waits for its consumers
    bool consumers_recorded = true;         ///< a release records the consumers' progress …
    bool every_consumer = true;             ///< … on each stream, not only on the first
    bool reader_after_ready = true;         ///< a consumer's stream waits for the batch
};

/// What a feed is made of, with the types taken away.
struct feed_parts_erased {
    std::shared_ptr<engine> loader{};
    schema columns{};  ///< of the loader's batches
    std::optional<device> target{};
    feed_options options{};
    std::unique_ptr<preparation> prepared{};  ///< null: batches stay as they are
    feed_edges edges{};
};

/// The machinery of a device feed, compiled once. Lives as long as the feed or a pending operation.
///
/// Thread safety: one thread or strand at a time.
class feed_engine : public std::enable_shared_from_this<feed_engine> {
  public:
    using batch_handler =
        boost::asio::any_completion_handler<void(std::exception_ptr, device_lease)>;
    using done_handler = boost::asio::any_completion_handler<void(std::exception_ptr)>;

    static std::shared_ptr<feed_engine> make(feed_parts_erased parts);
    ~feed_engine();

    /// As the loader's, of which it takes what is ready.
    void async_next(boost::asio::any_io_executor executor, batch_handler completion);
    device_lease next_blocking();
    void async_completed(boost::asio::any_io_executor executor, CUstream_st* stream,
                         done_handler completion);

    void restart();
    void restart(std::uint64_t epoch);
    feed_stats stats() const;
    engine& loader() const { return *loader_; }

    /// Ends the loader and fails a pending operation; the feed's destructor.
    void close() noexcept;

  private:
    class queue;  // lib/device/feed_queue.hpp
    struct next_operation;
    struct completed_operation;

    explicit feed_engine(feed_parts_erased parts);

    std::shared_ptr<engine> loader_;
    std::unique_ptr<queue> queue_;
};

}  // namespace stoker::detail
