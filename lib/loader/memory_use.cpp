// Slots are exact. A worker's own memory is an estimate made of what is known before it starts: a
// base measured on Debian 12 (`./run bench footprint`), and the page tables that map the host's
// memory in each process, which grow with the dataset (2 MiB a GiB).

#include <stoker/loader/memory_use.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>

#include "ipc/control.hpp"
#include "ipc/messages.hpp"
#include "loader/memory_estimate.hpp"

namespace stoker {

namespace {

/// Queues of a few kilobytes beside batches of gigabytes: each in its own unit.
std::string readable(std::uint64_t bytes) {
    const double kibibytes = static_cast<double>(bytes) / (1 << 10);
    char text[32];
    if (kibibytes < 1000) {
        std::snprintf(text, sizeof text, "%.0f KiB", kibibytes);
    } else if (kibibytes < 1000 << 10) {
        std::snprintf(text, sizeof text, "%.1f MiB", kibibytes / (1 << 10));
    } else {
        std::snprintf(text, sizeof text, "%.1f GiB", kibibytes / (1 << 20));
    }
    return text;
}

}  // namespace

std::string memory_use::text() const {
    std::string result = std::to_string(slots) + " slots × " + readable(batch_bytes);
    if (workers > 0) {
        result += " + " + std::to_string(workers) + " workers × " + readable(worker_bytes) +
                  " + fork server " + readable(fork_server_bytes) + " + queues " +
                  readable(queue_bytes);
    }
    return result + " = " + readable(total_bytes);
}

namespace detail {

namespace {

constexpr std::uint64_t worker_base_bytes = 900 << 10;
constexpr std::uint64_t server_base_bytes = 500 << 10;

/// VmPTE of this process: what a fork of it needs for page tables, at most.
std::uint64_t page_table_bytes() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.rfind("VmPTE:", 0) == 0) {
            return std::strtoull(line.c_str() + 6, nullptr, 10) << 10;
        }
    }
    return 0;
}

}  // namespace

memory_use estimate_memory(const slot_geometry& geometry, const loader_options& options,
                           std::uint64_t largest_batch_bytes) {
    const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    const std::uint64_t data =
        geometry.known_bytes > 0 ? geometry.known_bytes : largest_batch_bytes;
    memory_use use{};
    use.slots = geometry.slot_count;
    use.batch_bytes = align_up(geometry.data_offset + data, page);
    use.slab_bytes = use.slots * use.batch_bytes;
    use.workers = static_cast<std::uint64_t>(options.num_workers);
    if (use.workers > 0) {
        const std::uint64_t tables = page_table_bytes();
        const std::uint64_t messages = 2 * static_cast<std::uint64_t>(options.prefetch_factor) + 4;
        const std::uint64_t queue_pair =
            2 * align_up(messages * (sizeof(task_message) + 64) + 512, page);
        use.worker_bytes = worker_base_bytes + tables;
        use.fork_server_bytes = server_base_bytes + tables;
        use.queue_bytes = use.workers * (queue_pair + sizeof(worker_words));
    }
    use.total_bytes =
        use.slab_bytes + use.queue_bytes + use.workers * use.worker_bytes + use.fork_server_bytes;
    return use;
}

}  // namespace detail

}  // namespace stoker
