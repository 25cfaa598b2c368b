#pragma once

#include <cstdint>
#include <memory>

#include <stoker/dataset/context.hpp>

namespace stoker::detail {

/// An open shard of a stream, which makes samples of a batch; types taken away.
class shard_reader {
  public:
    virtual ~shard_reader() = default;
    /// Makes the next sample, and keeps it as number `number` of the batch unless it is only to be
    /// stepped over. False at the end, and then never called again.
    virtual bool next(std::uint64_t number, context& c) = 0;
    virtual bool skip(context& c) = 0;
    /// Where the shard can be opened to go on.
    virtual std::uint64_t position() = 0;
};

class shard_source {
  public:
    virtual ~shard_source() = default;
    virtual std::unique_ptr<shard_reader> open_shard(std::uint64_t shard,
                                                     std::uint64_t position) = 0;
};

}  // namespace stoker::detail
