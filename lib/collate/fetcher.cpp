#include <stoker/collate/fetcher.hpp>

namespace stoker::detail {

boost::asio::awaitable<void> fetcher::async_open(int worker, int num_workers, std::uint64_t seed) {
    open(worker, num_workers, seed);
    co_return;
}

boost::asio::awaitable<std::uint64_t> fetcher::async_fetch(const fetch_task& task,
                                                           batch_memory& memory,
                                                           column_record* records,
                                                           fetch_monitor& monitor,
                                                           const fetch_limits&) {
    co_return fetch(task, memory, records, monitor);
}

}  // namespace stoker::detail
