#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/system_executor.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <stoker/device/device.hpp>
#include <stoker/device/device_batch.hpp>
#include <stoker/device/device_handler.hpp>
#include <stoker/device/feed_engine.hpp>
#include <stoker/device/feed_options.hpp>
#include <stoker/device/feed_parts.hpp>
#include <stoker/device/feed_stats.hpp>
#include <stoker/loader/loader.hpp>
#include <stoker/loader/loader_parts.hpp>

namespace stoker {

namespace detail {

/// What the handler of an operation is bound to; `Handler` must be bound to something.
template <class Handler>
boost::asio::any_io_executor executor_of(const Handler& handler) {
    using executor_type = boost::asio::associated_executor_t<Handler>;
    static_assert(!std::is_same_v<executor_type, boost::asio::system_executor>,
                  "stoker: a device feed needs an executor to complete on: bind the handler with "
                  "boost::asio::bind_executor(io.get_executor(), handler)");
    return boost::asio::any_io_executor(boost::asio::get_associated_executor(handler));
}

}  // namespace detail

/// Takes a loader's batches to a device, ahead of need: each goes over the bus in one copy, from
/// the very memory that the workers wrote, while the device computes.
///
///     stoker::device_feed feed{std::move(loader), stoker::cuda_device(0)};
///     while (auto batch = co_await feed.next()) {
///         auto on = batch.on(compute);                   // your stream waits, you do not
///         step<<<…, compute>>>(on[&digit::pixels].data(), on[&digit::label].data());
///     }
///
/// **Construction** takes the loader, a device, `feed_options` if wanted, and `prepare(…)` parts,
/// whose kernels turn columns into others there, such as bytes into normalised floats. Slots are
/// pinned, device memory, streams and events are made: all that costs time is done here. Starts one
/// thread, which gives slots back to the workers: make further loaders before.
///
/// **next()** gives a batch when its copy has been *enqueued*; streams, not threads, wait for it.
/// Epochs, errors and executors are as the loader's. What goes wrong with the device
/// (error{device_failed}, with the call and the batch) is for good: every later `next()` throws it.
///
/// **Memory.** Batches whose size the samples decide, and batch samplers that cannot say how large
/// their batches get, go through pinned buffers beside the slots, and device memory grows with the
/// largest of them.
///
/// Several devices: a loader and a feed each. `host_device()` takes CUDA's place anywhere: then all
/// happens inside `next()`, and `on` may be called with nullptr.
///
/// Profilers that know NVTX (Nsight Systems) show the domain "stoker" where it was built with
/// NVTX's headers: fetch and collate in workers, wait for batch, copy and prepare here.
///
/// Lifetime: owns the loader. Batches may outlive the feed. Destroying it fails a pending `next()`;
/// the last of feed and batches waits until the device is done with its memory, however long that
/// takes: for ever when a device hangs, or a capture of a stream that uses a batch never ends.
/// Moved from: only destruction and assignment are allowed.
///
/// Thread safety: one thread or strand at a time, one `next()` at a time, any number of
/// `completed()`. Batches may be used and released on any threads.
template <class Sample, class DeviceSample = Sample, class Batch = void>
class device_feed {
  public:
    using sample = DeviceSample;
    using batch_type = device_batch<DeviceSample, Batch>;

    template <class Dataset, class... Parts>
    device_feed(loader<Dataset, Batch> source, device target, feed_options options,
                Parts... parts) {
        static_assert(std::is_same_v<typename loader<Dataset, Batch>::sample, Sample>,
                      "stoker: a device_feed is of the loader's sample type");
        static_assert(std::is_void_v<Batch> || sizeof...(Parts) == 0,
                      "stoker: stoker::prepare(…) is of a sample's members, and this loader has a "
                      "stoker::collate: let it make the columns that the device needs");
        using all_parts = detail::feed_parts<Sample, Parts...>;
        detail::feed_parts_erased all;
        all.loader = detail::loader_access::take(std::move(source));
        all.columns = detail::columns_of<Sample, Batch>();
        all.target = target;
        all.options = std::move(options);
        all.prepared = all_parts::make(std::move(parts)...);
        engine_ = detail::feed_engine::make(std::move(all));
    }
    template <class Dataset, class... Parts>
    device_feed(loader<Dataset, Batch> source, device target, Parts... parts)
        : device_feed(std::move(source), target, feed_options{}, std::move(parts)...) {}

    device_feed(device_feed&&) noexcept = default;
    device_feed& operator=(device_feed&& other) noexcept {
        if (this != &other) {
            close();
            engine_ = std::move(other.engine_);
        }
        return *this;
    }
    ~device_feed() { close(); }

    /// The next batch, or false at the end of an epoch. Any completion token with the signature
    /// `void(std::exception_ptr, device_batch)`; awaited by default. Completes on the executor of
    /// the awaiting side, never inside the call. Where all device memory is held it waits for a
    /// release, at most the loader's `timeout` (30 s when 0), then throws error{no_free_slot}.
    ///
    /// Cancellation (all types): completes with operation_aborted; no batch is lost.
    template <class Token = boost::asio::use_awaitable_t<>>
    auto next(Token&& token = Token()) {
        static_assert(
            boost::asio::completion_token_for<Token, void(std::exception_ptr, batch_type)>,
            "stoker: next() takes a completion token, or a handler that can be called with "
            "(std::exception_ptr, device_batch)");
        return boost::asio::async_initiate<Token, void(std::exception_ptr, batch_type)>(
            start_next{engine_}, token);
    }

    /// Waits in this thread, without any executor. Throws error{busy} while a `next()` is pending.
    batch_type next_blocking() { return batch_type(engine_->next_blocking()); }

    /// Completes when `stream` has done what was enqueued on it before this call: a thread that
    /// would wait in cudaStreamSynchronize is free for other work. Signature
    /// `void(std::exception_ptr)`; throws what the stream failed of, and error{stream_captured}.
    /// Cancellation (all types): completes with operation_aborted.
    template <class Token = boost::asio::use_awaitable_t<>>
    auto completed(CUstream_st* stream, Token&& token = Token()) {
        return boost::asio::async_initiate<Token, void(std::exception_ptr)>(
            start_completed{engine_}, token, stream);
    }

    /// Begins the next epoch at once, after a break; does nothing when the current one has not
    /// delivered yet. What was sent ahead is dropped. Throws error{busy} while a `next()` is
    /// pending.
    void restart() { engine_->restart(); }
    /// Begins epoch number `epoch` at once. Throws as the loader's.
    void restart(std::uint64_t epoch) { engine_->restart(epoch); }

    feed_stats stats() const { return engine_->stats(); }

    // Of the loader.
    /// Batches an epoch; nullopt when the sampler cannot say.
    std::optional<std::uint64_t> length() const { return engine_->loader().length(); }
    /// Samples in the dataset.
    std::uint64_t size() const { return engine_->loader().size(); }
    const loader_options& options() const { return engine_->loader().options(); }

  private:
    struct start_next {
        // Shared, since the operation may begin after the feed is gone: it then fails.
        std::shared_ptr<detail::feed_engine> machinery;

        template <class Handler>
        void operator()(Handler&& handler) const {
            using handler_type = std::decay_t<Handler>;
            boost::asio::any_io_executor executor = detail::executor_of(handler);
            machinery->async_next(
                std::move(executor),
                detail::device_handler<handler_type, batch_type>{std::forward<Handler>(handler)});
        }
    };
    struct start_completed {
        std::shared_ptr<detail::feed_engine> machinery;

        template <class Handler>
        void operator()(Handler&& handler, CUstream_st* stream) const {
            boost::asio::any_io_executor executor = detail::executor_of(handler);
            machinery->async_completed(std::move(executor), stream, std::forward<Handler>(handler));
        }
    };

    void close() noexcept {
        if (engine_)
            engine_->close();
    }

    std::shared_ptr<detail::feed_engine> engine_;
};

template <class Dataset, class Batch, class... Parts>
device_feed(loader<Dataset, Batch>, device, feed_options, Parts...) -> device_feed<
    typename loader<Dataset, Batch>::sample,
    typename detail::feed_parts<typename loader<Dataset, Batch>::sample, Parts...>::device_sample,
    Batch>;
template <class Dataset, class Batch, class... Parts>
device_feed(loader<Dataset, Batch>, device, Parts...) -> device_feed<
    typename loader<Dataset, Batch>::sample,
    typename detail::feed_parts<typename loader<Dataset, Batch>::sample, Parts...>::device_sample,
    Batch>;

}  // namespace stoker
