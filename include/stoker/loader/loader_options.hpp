#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include <stoker/loader/on_bad.hpp>
#include <stoker/runtime/restart_policy.hpp>

namespace stoker {

/// For `loader_options::epochs`: `next()` never reports the end of an epoch, one follows the other.
inline constexpr int endless = -1;

/// How a loader loads: PyTorch's names in PyTorch's order (designators must keep this order).
/// All values are checked when a loader is constructed; the error names option, value and range.
struct loader_options {
    // What is delivered.

    /// Samples a batch, 1 up. Larger batches cost memory: see `loader.memory()`.
    int batch_size = 1;
    /// A new keyed permutation each epoch, computed and never stored. Not with a sampler. Of a
    /// stream: of its shards, whose samples keep their order.
    bool shuffle = false;
    /// Worker processes; 0 loads in the calling process. Start at 4, then let `sweep` find the
    /// elbow.
    int num_workers = 0;
    /// Samples of a dataset with coroutines (`get` or `read` that return an awaitable) that each
    /// worker has under way at once, over all batches it was given: to fill 256, prefetch_factor ×
    /// batch_size must be as much. 1 to 65536; ignored for other datasets.
    int in_flight = 16;
    /// Leave out the last batch of an epoch when it is smaller than batch_size.
    bool drop_last = false;
    /// How long an awaited batch may take; 0: as long as the dataset takes (dead and stopped
    /// workers are noticed all the same). At the deadline that batch fails, its worker is killed
    /// and replaced, and the epoch goes on. Counts from the first time the batch is asked for, by
    /// whatever call, cancelled ones included; where none waits, a second of the time between two.
    /// Ignored without workers.
    std::chrono::milliseconds timeout{0};
    /// How long one sample of a dataset with coroutines may take; 0: as long as it takes. At the
    /// deadline its coroutine is cancelled, and its batch, no more, fails with
    /// `errc::timed_out` and the sample. A coroutine that refuses to be cancelled is waited for, up
    /// to `timeout`. Refused for other datasets, which nothing can interrupt.
    std::chrono::milliseconds sample_timeout{0};
    /// What becomes of a sample that fails. `skip`: it is left out, its batch comes with fewer
    /// samples (drop_last looks at the sampler's lists, not at what is left of them), one without
    /// any is left out too, and `loader::skipped()` tells which and why; its other samples are made
    /// again, of coroutines once for all that failed, else once for each that did. `replace`: what
    /// a `replace_bad` part sets. Neither is for streams, and neither is of use where get() makes a
    /// whole batch, unless what it throws is an `error` that names its sample.
    stoker::on_bad on_bad = stoker::on_bad::fail;
    /// Batches each worker is given ahead of need, 1 up. More evens out slow samples, for
    /// num_workers × prefetch_factor batches of memory. Ignored, if in range, without workers.
    int prefetch_factor = 2;
    /// Keep the workers from epoch to epoch (PyTorch: false). Ignored without workers.
    bool persistent_workers = true;
    /// Deliver batches in the sampler's order; false: as they get ready.
    bool in_order = true;
    /// Key of all randomness: order and the samples' generators.
    std::uint64_t seed = 0;
    /// How many epochs will be read, so that workers run ahead into the next one; 0: not told
    /// (each epoch begins when asked for); `endless`: one stream of batches without ends,
    /// whose workers are kept whatever persistent_workers says. Workers do not run ahead into the
    /// next epoch of a stream: each begins when asked for, or, endless, when one has ended.
    int epochs = 0;
    /// When a worker that died is replaced within its epoch, and what it had not finished given to
    /// others, so that nothing is lost or doubled. `on_failure`: when it was killed or gave a
    /// status other than 0; `never`: its death ends the epoch. Ignored without workers.
    restart restart_workers = restart::on_failure;
    /// Replacements allowed within any `restart_window`, 0 up; one more death ends the epoch with
    /// an error that tells the history.
    int max_restarts = 3;
    /// Longer than 0.
    std::chrono::milliseconds restart_window = std::chrono::seconds(60);
    /// Most bytes of batch memory (slots × batch); 0: no limit of ours. A loader that is known to
    /// need more is refused; a batch that would need more is an error of that batch.
    std::uint64_t memory_limit_bytes = 0;
    /// Threads that each pool inside a worker may have (OpenMP, BLAS, OpenCV …), so that workers do
    /// not fight for cores. Set there before the dataset's `open()`, whatever the environment says;
    /// 0 leaves everything as the host has it. Ignored without workers.
    int worker_threads = 1;
    /// Name in errors and in the workers' process names.
    std::string name{};
    /// Fork although the process has other threads. Only where none of them can hold a lock that
    /// the dataset needs; `fork_server` is the safe way.
    bool fork_with_threads = false;
};

}  // namespace stoker
