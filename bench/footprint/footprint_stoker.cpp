// What workers and their fork server occupy when an epoch is over: a dataset of 64 KiB, 4 workers.
//
// The processes are found by what they are, not by what the loader says: each worker writes its own
// number into a shared page, and their parent is the fork server.
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <stoker/stoker.hpp>

#include "support/measurement.hpp"
#include "support/memory_of.hpp"
#include "support/samples.hpp"
#include "support/shared_page.hpp"

namespace {

constexpr int workers = 4;

struct registry {
    std::atomic<int> count{0};
    std::array<std::atomic<pid_t>, 64> processes{};

    void enter() {
        const auto at = static_cast<std::size_t>(count.fetch_add(1));
        if (at < processes.size())
            processes[at] = ::getpid();
    }
};

struct small_sample {
    stoker::tensor<std::uint8_t, bench::small_sample_bytes> bytes;
};

struct pool_dataset {
    bench::pool from;
    registry* seen;

    std::size_t size() const { return std::size_t{bench::small_batch_size} * 256; }
    void read(stoker::index index, stoker::row<small_sample> row) const {
        static bool entered = false;
        if (!std::exchange(entered, true))
            seen->enter();
        std::memcpy(row[&small_sample::bytes].data(), from.sample(index), from.sample_bytes());
    }
};

void report_share(const std::string& who, const bench::memory_share& share) {
    bench::report(who + "_shared_mb", share.shared_mb, "MB");
    bench::report(who + "_page_tables_mb", share.page_tables_mb, "MB");
}

}  // namespace

int main() {
    auto& seen = bench::shared_page<registry>();
    stoker::loader loader{pool_dataset{bench::small_pool(), &seen},
                          {.batch_size = bench::small_batch_size, .num_workers = workers}};
    std::uint64_t batches = 0;
    for (auto& batch : loader)
        batches += batch ? 1 : 0;
    if (batches != 256 || seen.count != workers)
        bench::fail("stoker: not all workers worked");
    ::usleep(100'000);

    bench::memory_share mean;
    for (std::size_t worker = 0; worker < workers; ++worker) {
        const auto share = bench::memory_of(seen.processes[worker]);
        mean.own_mb += share.own_mb / workers;
        mean.shared_mb += share.shared_mb / workers;
        mean.page_tables_mb += share.page_tables_mb / workers;
    }
    const auto server = bench::memory_of(bench::parent_of(seen.processes[0]));
    bench::report("worker_own_mb", mean.own_mb, "MB");
    bench::report("fork_server_mb", server.own_mb, "MB");
    report_share("worker", mean);
    report_share("fork_server", server);
}
