#pragma once

#include <cstdint>
#include <memory>

#include <stoker/collate/fetcher.hpp>
#include <stoker/collate/shard_reader.hpp>
#include <stoker/collate/stream_task.hpp>

namespace stoker::detail {

/// A process's side of a stream: the lanes that it reads, each with one open shard.
///
/// Thread safety: one thread at a time.
class stream_lanes {
  public:
    /// The source lives as long as this.
    explicit stream_lanes(shard_source& source);
    ~stream_lanes();

    /// Looks at what a task asks for: its samples, at most. Throws error{protocol}.
    std::uint64_t wanted(const fetch_task& task);
    /// Then reads it, and leaves an answer in the task's words. Gives the samples that are kept
    /// for the batch; 0: there is none. Throws what reading throws, with the shard named.
    std::uint64_t read(const fetch_task& task, fetch_monitor& monitor);

  private:
    class lane;
    struct state;

    std::unique_ptr<state> state_;
};

}  // namespace stoker::detail
