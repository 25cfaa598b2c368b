#pragma once

#include <sys/types.h>

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <stoker/loader/loader_options.hpp>
#include <stoker/tune/sweep_options.hpp>
#include <stoker/tune/sweep_result.hpp>

namespace stoker {

namespace detail {

/// A loader as the machinery sees it: what it needs, without the type.
struct sweep_subject {
    /// Reads an epoch, or `limit` batches of it when that is not 0, calls `each` (may be empty)
    /// after each batch, and returns the number of samples.
    std::function<std::uint64_t(std::uint64_t limit, const std::function<void()>& each)> run_epoch;
    /// The processes that load; empty: not known.
    std::function<std::vector<pid_t>()> worker_processes{};
    /// The process that forks and reaps them; empty: not known.
    std::function<pid_t()> fork_server_process{};
    /// How the loader was configured; empty: not known.
    std::function<loader_options()> options{};
};

/// Measures one number of workers after the other and builds the result.
class sweeper {
  public:
    /// Throws error{invalid_option} when an option is out of range.
    explicit sweeper(sweep_options options);

    const std::vector<int>& num_workers() const noexcept { return options_.num_workers; }
    /// What the factory is given. Also notes how much memory there is before the loader.
    loader_options begin(int num_workers);
    /// Measures the loader that the factory made of it.
    void measure(const sweep_subject& subject);
    sweep_result finish() &&;

  private:
    sweep_options options_;
    sweep_result result_;
    std::vector<std::optional<loader_options>> loader_options_;
    int current_ = 0;
    std::uint64_t shared_bytes_before_ = 0;
};

template <class Loader>
sweep_subject make_subject(Loader& loader) {
    sweep_subject subject;
    subject.run_epoch = [&loader](std::uint64_t limit, const std::function<void()>& each) {
        std::uint64_t samples = 0;
        std::uint64_t batches = 0;
        for (auto& batch : loader) {
            samples += batch.size();
            if (each)
                each();
            if (++batches == limit)
                break;
        }
        return samples;
    };
    if constexpr (requires { loader.worker_processes(); }) {
        subject.worker_processes = [&loader] { return loader.worker_processes(); };
    }
    if constexpr (requires { loader.fork_server_process(); }) {
        subject.fork_server_process = [&loader] { return loader.fork_server_process(); };
    }
    if constexpr (requires { loader.options(); }) {
        subject.options = [&loader]() -> loader_options { return loader.options(); };
    }
    return subject;
}

}  // namespace detail

/// Makes a loader of options: any loader that is a range of batches with `size()`, each walk over
/// it one epoch.
template <class Factory>
concept loader_factory = std::invocable<Factory&, loader_options> &&
    requires(std::invoke_result_t<Factory&, loader_options>& loader) {
    { (*loader.begin()).size() } -> std::convertible_to<std::uint64_t>;
    loader.end();
};

/// Finds out how many workers a dataset deserves: times pure iteration, no training, with each
/// number of workers. Answers "is the loader the bottleneck?": it is when training takes more
/// samples per second than the elbow gives.
///
///     auto result = stoker::sweep([](stoker::loader_options o) {
///         o.batch_size = 32;
///         return stoker::loader{images, o};
///     }, {.num_workers = {0, 2, 4, 8}});
///     std::cout << result.table() << result.paste();
///
/// The factory is given `num_workers` and `epochs` (so that the last timed epoch too runs ahead
/// into a next one) and keeps them. One loader exists at a time and forks when it is made, so the
/// process should have no other threads (see `fork_server`). Blocks; what factory and loader throw
/// passes.
///
/// Thread safety: not for use on two threads at once, whose loaders would disturb each other.
template <loader_factory Factory>
sweep_result sweep(Factory&& factory, sweep_options options = {}) {
    detail::sweeper sweeper{std::move(options)};
    for (const int num_workers : sweeper.num_workers()) {
        auto loader = std::invoke(factory, sweeper.begin(num_workers));
        sweeper.measure(detail::make_subject(loader));
    }
    return std::move(sweeper).finish();
}

}  // namespace stoker
