#pragma once

#include <cstddef>

#include <boost/asio/awaitable.hpp>

#include <stoker/collate/fetcher.hpp>

namespace stoker::detail {

/// Makes the samples of one batch by coroutines.
class sample_maker {
  public:
    virtual ~sample_maker() = default;
    /// Makes number `number` of the batch, from 0, and puts it in its place.
    virtual boost::asio::awaitable<void> make(std::size_t number) = 0;
    /// Makes them all by one call, so that nobody knows which of them failed.
    virtual bool makes_all() const { return false; }
};

/// Awaits `maker.make` of the numbers up to `count`, as many at once as the limits let it; batches
/// that began earlier go first. The first that fails, or takes longer than sample_timeout, cancels
/// the others and is thrown once all have ended, as an `error` with its sample; with the limits'
/// `go_on` all are made, and `samples_failed` is thrown. All arguments are kept by reference.
boost::asio::awaitable<void> make_samples(const fetch_task& task, std::size_t count,
                                          sample_maker& maker, fetch_monitor& monitor,
                                          const fetch_limits& limits);

}  // namespace stoker::detail
