#pragma once

#include <sys/types.h>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/system_executor.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <stoker/loader/batch.hpp>
#include <stoker/loader/engine.hpp>
#include <stoker/loader/loader_options.hpp>
#include <stoker/loader/loader_parts.hpp>
#include <stoker/loader/memory_use.hpp>
#include <stoker/loader/typed_handler.hpp>
#include <stoker/worker/forked_dataset.hpp>

// tidy-allow(namespace): declared, since the header of use_future costs seconds
namespace boost::asio {
template <typename Allocator>
class use_future_t;
}  // namespace boost::asio

namespace stoker {

namespace detail {

template <class Token>
struct is_bare_future : std::false_type {};
template <class Allocator>
struct is_bare_future<boost::asio::use_future_t<Allocator>> : std::true_type {};

struct loader_access;

}  // namespace detail

/// Loads a dataset batch by batch, in worker processes, ahead of need: the async generator of
/// batches.
///
///     stoker::loader loader{read_digits("digits.csv"),
///                           {.batch_size = 64, .shuffle = true, .num_workers = 4, .epochs = 10}};
///     for (int epoch = 0; epoch < 10; ++epoch)
///         while (auto batch = co_await loader.next()) step(batch[&digit::pixels]);
///     for (auto& batch : loader) …                     // or blocking: one epoch
///
/// **Construction** takes a dataset or a `stream`, `loader_options`, and, after them, parts in any
/// order: a `sampler` or `batch_sampler`, a `collate`, which makes `Batch` the struct that it
/// names, a `worker_init`, a `replace_bad`. Options are checked, the workers' fork server is forked
/// (make loaders first in main, before threads: see `fork_server` for the other case), the workers
/// start, and the first epoch's batches are on their way.
///
/// **Epochs.** `next()` gives a batch that converts to false at the end of each epoch; the call
/// after that begins the next epoch. Once `epochs` were announced and delivered it stays false.
///
/// **Errors** (`stoker::error`). A sample that fails, or samples that cannot be collated, cost
/// their batch: `next()` throws in its place, the call after that gives the following batch. So
/// does a batch that is later than `timeout`. Workers that die or are stopped are replaced, and
/// what they had not finished is made again: nothing is lost or doubled. Beyond `max_restarts` a
/// death ends the epoch with one error; the call after that begins the next epoch.
///
/// **Executors.** The loader has none. An operation runs on the executor of whoever awaits it, and
/// only while one waits is a descriptor bound there: an idle loader keeps no io_context running,
/// may be made before and destroyed after any of them, and can be used from several in turn.
/// Between two calls nothing of it runs in this process.
///
/// Lifetime: the dataset lives here and is destroyed here, once; workers share its pages. Batches
/// may outlive the loader. Destroying it ends its workers (about a second at most, whatever they
/// do) and fails a pending `next()`. Moved from: only destruction and assignment are allowed.
///
/// A process that the host forks may destroy its copy of a loader, which leaves the workers alone,
/// and do nothing else with it.
///
/// Thread safety: one thread or strand at a time, one `next()` at a time. Distinct loaders are
/// independent. Batches may be released on any thread.
template <class Dataset, class Batch = void>
class loader {
  public:
    using dataset_type = Dataset;
    using sample = typename detail::loaded_traits<Dataset>::sample;
    using batch_type = batch<sample, Batch>;

    template <class... Parts>
    explicit loader(Dataset dataset, loader_options options = {}, Parts... parts) {
        detail::check_parts<Dataset, Batch, Parts...>();
        detail::engine_parts all;
        all.options = std::move(options);
        all.columns = detail::columns_of<sample, Batch>();
        all.waits = detail::loaded_traits<Dataset>::waits;
        detail::add_order(all, parts...);
        detail::add_replacement(all, parts...);
        all.source = detail::make_source(std::move(dataset), parts...);
        engine_ = detail::engine::make(std::move(all));
    }

    /// A dataset that a `fork_server` builds, in a process without this one's threads.
    template <class... Parts>
    explicit loader(forked_dataset<Dataset> dataset, loader_options options = {}, Parts... parts) {
        detail::check_parts<Dataset, Batch, Parts...>();
        static_assert(detail::parts_of<worker_init, Parts...> == 0,
                      "stoker: a worker_init cannot reach a dataset that a fork_server builds: do "
                      "its work in the dataset's open()");
        static_assert(detail::parts_of<collate, Parts...> == 0,
                      "stoker: a collate cannot reach a dataset that a fork_server builds: let the "
                      "types of the sample's members say it, as stoker::padded does");
        detail::engine_parts all;
        all.options = std::move(options);
        all.columns = detail::columns_of<sample, Batch>();
        all.waits = detail::loaded_traits<Dataset>::waits;
        detail::add_order(all, parts...);
        detail::add_replacement(all, parts...);
        all.recipe = &dataset.recipe();
        engine_ = detail::engine::make(std::move(all));
    }

    loader(loader&&) noexcept = default;
    loader& operator=(loader&& other) noexcept {
        if (this != &other) {
            close();
            engine_ = std::move(other.engine_);
        }
        return *this;
    }
    ~loader() { close(); }

    /// The next batch, or false at the end of an epoch. Any completion token with the signature
    /// `void(std::exception_ptr, batch)`; awaited by default. Completes on the executor of the
    /// awaiting side, never inside the call.
    ///
    /// Cancellation (all types): completes with operation_aborted and has taken nothing.
    ///
    /// Raced by Asio's `||`, take the result as a tuple, `next(as_tuple(use_awaitable)) || …`: that
    /// operator passes over an exception and waits for the other side.
    template <class Token = boost::asio::use_awaitable_t<>>
    auto next(Token&& token = Token()) {
        static_assert(!detail::is_bare_future<std::decay_t<Token>>::value,
                      "stoker: a bare use_future completes on hidden threads of Asio's own: write "
                      "boost::asio::bind_executor(io.get_executor(), boost::asio::use_future)");
        static_assert(
            boost::asio::completion_token_for<Token, void(std::exception_ptr, batch_type)>,
            "stoker: next() takes a completion token, or a handler that can be called with "
            "(std::exception_ptr, batch)");
        return boost::asio::async_initiate<Token, void(std::exception_ptr, batch_type)>(
            start_next{engine_}, token);
    }

    /// Whether `try_next()` would give something now: a batch, an error, or the end (also after the
    /// last one). No system call when a batch is ready. Beside a pending `next()` it only looks;
    /// otherwise it asks for the batch, which `timeout` counts from.
    bool ready() { return engine_->ready(); }

    /// The next batch without waiting: nullopt when none is ready, a false batch at the end of an
    /// epoch. No system call when one is ready. With num_workers = 0 it loads the batch. `timeout`
    /// counts from the first look in vain. Throws error{busy} while a `next()` is pending.
    std::optional<batch_type> try_next() {
        detail::lease held;
        if (engine_->try_next(held) == detail::outcome::pending)
            return std::nullopt;
        return batch_type(std::move(held));
    }

    /// Waits in this thread, without any executor. Throws error{busy} while a `next()` is pending.
    batch_type next_blocking() { return batch_type(engine_->next_blocking()); }

    /// Begins the next epoch at once, after a break; does nothing when the current one has not
    /// delivered yet. Stale batches never appear, and nobody waits for them.
    void restart() { engine_->restart(); }
    /// Begins epoch number `epoch` at once. Throws error{busy} while a `next()` is pending, and
    /// error{invalid_option} when fewer epochs were announced.
    void restart(std::uint64_t epoch) { engine_->restart(epoch); }

    class iterator;
    /// One epoch, blocking; a fresh one after a break. One range at a time. An error, that of one
    /// bad sample, too, ends the range, and the next range begins the next epoch: to go on with the
    /// following batch, catch it around `next_blocking()`.
    iterator begin() {
        engine_->restart();
        return iterator(*this);
    }
    std::default_sentinel_t end() const noexcept { return {}; }

    /// Batches an epoch; nullopt when the sampler, or the stream, cannot say.
    std::optional<std::uint64_t> length() const { return engine_->length(); }
    /// Samples in the dataset; 0 for a stream that does not say.
    std::uint64_t size() const { return engine_->size(); }
    const loader_options& options() const { return engine_->options(); }
    /// What it takes at its fullest, before anything was loaded.
    memory_use memory() const { return engine_->memory(); }
    /// What `on_bad::skip` has left out of the batches that were collected so far, some of which
    /// may not have been delivered yet, or what `on_bad::replace` has put others in place of.
    const skipped_samples& skipped() const { return engine_->skipped(); }
    /// Process ids of the workers that the fork server has reported, a moment after they were asked
    /// for. Takes note of deaths, so it may replace idle workers.
    std::vector<pid_t> worker_processes() { return engine_->worker_processes(); }
    /// Process id of the fork server; 0 without workers.
    pid_t fork_server_process() const { return engine_->fork_server_process(); }

  private:
    friend detail::loader_access;

    struct start_next {
        // Shared, since the operation may begin after the loader is gone: it then fails.
        std::shared_ptr<detail::engine> machinery;

        template <class Handler>
        void operator()(Handler&& handler) const {
            using handler_type = std::decay_t<Handler>;
            using executor_type = boost::asio::associated_executor_t<handler_type>;
            static_assert(!std::is_same_v<executor_type, boost::asio::system_executor>,
                          "stoker: next() needs an executor to complete on: bind the handler with "
                          "boost::asio::bind_executor(io.get_executor(), handler)");
            boost::asio::any_io_executor executor(boost::asio::get_associated_executor(handler));
            machinery->async_next(
                std::move(executor),
                detail::typed_handler<handler_type, batch_type>{std::forward<Handler>(handler)});
        }
    };

    void close() noexcept {
        if (engine_)
            engine_->close();
    }

    std::shared_ptr<detail::engine> engine_;
};

/// For what takes a loader's place.
struct detail::loader_access {
    template <class Dataset, class Batch>
    static std::shared_ptr<engine> take(loader<Dataset, Batch> source) {
        return std::move(source.engine_);
    }
};

/// Input iterator over one epoch; holds one batch, which the next step gives back.
template <class Dataset, class Batch>
class loader<Dataset, Batch>::iterator {
  public:
    using value_type = batch_type;
    using difference_type = std::ptrdiff_t;

    iterator() = default;
    explicit iterator(loader& source) : source_(&source) { ++*this; }

    batch_type& operator*() const noexcept { return current_; }
    batch_type* operator->() const noexcept { return &current_; }
    iterator& operator++() {
        current_ = batch_type();  // its slot is free for the workers while this waits
        current_ = source_->next_blocking();
        return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const noexcept { return !current_; }

  private:
    loader* source_ = nullptr;
    mutable batch_type current_{};
};

template <class Dataset, class... Parts>
loader(Dataset, loader_options, Parts...)
    -> loader<Dataset, typename detail::batch_of_parts<Parts...>::type>;
template <class Dataset>
loader(Dataset) -> loader<Dataset>;
template <class Dataset, class... Parts>
loader(forked_dataset<Dataset>, loader_options, Parts...)
    -> loader<Dataset, typename detail::batch_of_parts<Parts...>::type>;
template <class Dataset>
loader(forked_dataset<Dataset>) -> loader<Dataset>;

}  // namespace stoker
