// What this host's two cores can move at best, without a loader.
//
// small: two processes are told by Boost message queues what to copy where, and answer the same
// way: 64-byte messages, 16 of them under way to each, as in the other arms; no gate, no doorbell,
// no order, no error path: a side that finds nothing yields the core.
//
// large: two processes copy images by keyed index into warm shared slots (three each, so that one
// is written while one is read and one waits); a byte in a pipe hands a slot over. The consumer
// checks one word of every sample, as in the other arms.
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <boost/interprocess/ipc/message_queue.hpp>
#include <cstring>
#include <memory>
#include <vector>

#include "support/measurement.hpp"
#include "support/samples.hpp"

namespace {

constexpr int workers = 2;
constexpr int window = 16;
constexpr int slots_each = 3;

/// Children that are killed and reaped when the run is over.
class children {
  public:
    children() = default;
    children(const children&) = delete;
    children& operator=(const children&) = delete;
    ~children() {
        for (const auto child : pids_)
            ::kill(child, SIGKILL);
        for (const auto child : pids_)
            ::waitpid(child, nullptr, 0);
    }
    template <class Body>
    void add(Body body) {
        const auto child = ::fork();
        if (child < 0)
            bench::fail("cannot fork");
        if (child == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            body();
            ::_exit(0);
        }
        pids_.push_back(child);
    }

  private:
    std::vector<pid_t> pids_;
};

std::byte* shared_memory(std::size_t size) {
    auto* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        bench::fail("no shared memory");
    return static_cast<std::byte*>(memory);
}

void copy_batch(const bench::pool& from, std::uint64_t batch, int batch_size, std::byte* slot) {
    for (int item = 0; item < batch_size; ++item) {
        const auto index =
            batch * static_cast<std::uint64_t>(batch_size) + static_cast<unsigned>(item);
        std::memcpy(slot + static_cast<std::size_t>(item) * from.sample_bytes(), from.sample(index),
                    from.sample_bytes());
    }
}

void check_batch(const bench::pool& from, std::uint64_t batch, int batch_size, std::byte* slot) {
    for (int item = 0; item < batch_size; ++item) {
        const auto index =
            batch * static_cast<std::uint64_t>(batch_size) + static_cast<unsigned>(item);
        if (!from.matches(index, slot + static_cast<std::size_t>(item) * from.sample_bytes())) {
            bench::fail("floor: wrong data");
        }
    }
}

struct message {
    std::uint64_t batch = 0;
    std::uint64_t slot = 0;
    std::array<std::uint64_t, 6> rest{};  // 64 bytes, as a loader's messages are
};

namespace interprocess = boost::interprocess;

std::unique_ptr<interprocess::message_queue> make_queue(int number) {
    const auto name = "stoker-bench-" + std::to_string(::getpid()) + "-" + std::to_string(number);
    auto queue = std::make_unique<interprocess::message_queue>(
        interprocess::create_only, name.c_str(), window, sizeof(message),
        interprocess::permissions(0600));
    interprocess::message_queue::remove(name.c_str());
    return queue;
}

bool poll_queue(interprocess::message_queue& queue, message& into) {
    interprocess::message_queue::size_type size = 0;
    unsigned priority = 0;
    return queue.try_receive(&into, sizeof into, size, priority);
}

void put(interprocess::message_queue& queue, const message& what) {
    while (!queue.try_send(&what, sizeof what, 0))
        ::sched_yield();
}

void small() {
    const auto pool = bench::small_pool();
    const auto slot_bytes = bench::small_batch_size * bench::small_sample_bytes;
    auto* slots = shared_memory(workers * window * slot_bytes);
    std::array<std::unique_ptr<interprocess::message_queue>, workers> tasks;
    std::array<std::unique_ptr<interprocess::message_queue>, workers> results;
    for (int worker = 0; worker < workers; ++worker) {
        const auto at = static_cast<std::size_t>(worker);
        tasks[at] = make_queue(2 * worker);
        results[at] = make_queue(2 * worker + 1);
    }
    children processes;
    for (std::size_t worker = 0; worker < workers; ++worker) {
        processes.add([&, worker] {
            for (message job;;) {
                while (!poll_queue(*tasks[worker], job))
                    ::sched_yield();
                copy_batch(pool, job.batch, bench::small_batch_size, slots + job.slot * slot_bytes);
                put(*results[worker], job);
            }
        });
    }
    std::uint64_t next_batch = 0;
    for (std::uint64_t slot = 0; slot < workers * window; ++slot) {
        put(*tasks[slot % workers], {.batch = next_batch++, .slot = slot});
    }
    bench::throughput measured(16);
    for (bool going_on = true; going_on;) {
        bool idle = true;
        for (std::size_t worker = 0; worker < workers && going_on; ++worker) {
            message done;
            if (!poll_queue(*results[worker], done))
                continue;
            idle = false;
            check_batch(pool, done.batch, bench::small_batch_size, slots + done.slot * slot_bytes);
            done.batch = next_batch++;
            put(*tasks[worker], done);
            going_on = measured.another();
        }
        if (idle)
            ::sched_yield();
    }
    bench::report("batches_per_s", measured.per_second(), "1/s");
}

struct pipe_ends {
    int read = -1;
    int write = -1;
};

pipe_ends make_pipe() {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0)
        bench::fail("cannot make a pipe");
    return {ends[0], ends[1]};
}

struct hand_over {
    std::uint64_t batch;
    std::uint32_t worker;
    std::uint32_t slot;
};

void large() {
    const auto pool = bench::image_pool();
    const auto slot_bytes = bench::image_batch_size * bench::image_bytes;
    auto* slots = shared_memory(workers * slots_each * slot_bytes);
    const auto results = make_pipe();
    std::array<pipe_ends, workers> returned;
    for (auto& each : returned)
        each = make_pipe();
    children processes;
    for (std::uint32_t worker = 0; worker < workers; ++worker) {
        processes.add([&, worker] {
            std::memset(slots + worker * slots_each * slot_bytes, 1, slots_each * slot_bytes);
            for (std::uint64_t batch = worker;; batch += workers) {
                std::uint32_t slot = 0;
                if (::read(returned[worker].read, &slot, sizeof slot) != sizeof slot)
                    return;
                copy_batch(pool, batch, bench::image_batch_size, slots + slot * slot_bytes);
                const hand_over done{batch, worker, slot};
                if (::write(results.write, &done, sizeof done) != sizeof done)
                    return;
            }
        });
    }
    const auto give = [&](std::uint32_t worker, std::uint32_t slot) {
        if (::write(returned[worker].write, &slot, sizeof slot) != sizeof slot) {
            bench::fail("floor: pipe");
        }
    };
    for (std::uint32_t slot = 0; slot < workers * slots_each; ++slot)
        give(slot / slots_each, slot);
    bench::throughput measured(1);
    do {
        hand_over done{};
        if (::read(results.read, &done, sizeof done) != sizeof done)
            bench::fail("floor: pipe");
        check_batch(pool, done.batch, bench::image_batch_size, slots + done.slot * slot_bytes);
        give(done.worker, done.slot);
    } while (measured.another());
    bench::report("batches_per_s", measured.per_second(), "1/s");
}

}  // namespace

int main(int argc, char** argv) {
    const bench::arguments arguments({argv, static_cast<std::size_t>(argc)});
    if (arguments.test_case == "small") {
        small();
    } else if (arguments.test_case == "large") {
        large();
    } else {
        bench::fail("unknown case");
    }
}
