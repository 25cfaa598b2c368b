#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <stoker/core/index.hpp>

namespace stoker::detail {

/// The order of an epoch, as the dispatcher sees it: lists of indices, one a batch.
/// Lives in the main process only. An index that does not fit (negative ones wrap to huge values)
/// is passed on: the loader reports it against the dataset's size.
class index_source {
  public:
    virtual ~index_source() = default;
    /// Starts epoch `epoch` from its beginning.
    virtual void begin(std::uint64_t epoch) = 0;
    /// Replaces `indices` by the next batch's, and gives false when the epoch has no more: then
    /// `indices` are those that drop_last leaves out.
    /// `indices` keeps its capacity: no allocation in the steady state.
    virtual bool next(std::vector<index>& indices) = 0;
    /// Batches an epoch, when that is known without walking it.
    virtual std::optional<std::uint64_t> length() const = 0;
    /// Most indices a batch can have, when known beforehand (batch_size); batch samplers: nullopt.
    virtual std::optional<std::uint64_t> largest_batch() const = 0;
};

}  // namespace stoker::detail
