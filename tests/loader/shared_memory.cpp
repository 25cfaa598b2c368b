// Cases of shared memory as a user meets them: a small /dev/shm, other processes and users, names
// that somebody removes, ends in the middle.

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "loader/loader_datasets.hpp"
#include "support/catch.hpp"
#include "support/leaks.hpp"
#include "support/run_child.hpp"

using namespace stoker;
using namespace stoker::test_loader;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using test_support::holds_within;
using test_support::run_child;

namespace {

constexpr int refused = 77;

/// A mount namespace of its own with a small /dev/shm; false where that is refused.
bool enter_small_shared_memory(const char* options) {
    return ::unshare(CLONE_NEWNS) == 0 &&
           ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           ::mount("small", "/dev/shm", "tmpfs", 0, options) == 0;
}

bool skipped(const test_support::child_outcome& outcome) {
    if (outcome.exit_status != refused)
        return false;
    WARN("skipped: this needs rights that are refused here");
    return true;
}

std::uint64_t used_of_shared_memory() {
    struct statvfs state {};
    return ::statvfs("/dev/shm", &state) == 0
               ? (state.f_blocks - state.f_bfree) * std::uint64_t{state.f_frsize}
               : 0;
}

struct image {
    tensor<std::uint8_t, 256, 1024> pixels;  // a quarter of a mebibyte
};
struct images {
    std::size_t size() const { return 256; }
    void read(stoker::index i, row<image> place) const {
        std::fill_n(place[&image::pixels].data(), 256 * 1024, static_cast<std::uint8_t>(i));
    }
};

}  // namespace

TEST_CASE("batches larger than /dev/shm are delivered whole", "[loader][B014]") {
    const auto outcome = run_child([](std::ostream& out) {
        if (!enter_small_shared_memory("size=1m"))
            return refused;
        loader source{images{}, {.batch_size = 64, .num_workers = 2}};  // 16 MiB a batch
        std::size_t right = 0;
        while (const auto batch = source.next_blocking()) {
            const auto pixels = batch[&image::pixels];
            for (std::size_t i = 0; i < batch.size(); ++i)
                right += pixels(i, 255, 1023) == batch.indices()[i] ? 1 : 0;
        }
        out << right << " right";
        return right == 256 ? 0 : 1;
    });
    if (skipped(outcome))
        return;
    CAPTURE(outcome.text);
    CHECK(outcome.signal == 0);
    CHECK(outcome.succeeded());
}

TEST_CASE("a loader whose queues do not fit into /dev/shm says so", "[loader][B014]") {
    const auto outcome = run_child([](std::ostream& out) {
        if (!enter_small_shared_memory("size=4k"))
            return refused;
        try {
            loader source{numbers{64}, {.batch_size = 2, .num_workers = 2}};
            out << read_epoch(source).size();
            return 1;
        } catch (const error& failure) {
            out << failure.what();
        }
        return std::filesystem::is_empty("/dev/shm") ? 0 : 2;
    });
    if (skipped(outcome))
        return;
    CAPTURE(outcome.text);
    CHECK(outcome.succeeded());
    CHECK_THAT(outcome.text, ContainsSubstring("ENOSPC") && ContainsSubstring("--shm-size"));
}

TEST_CASE("twenty crashes leave nothing that hinders the next start", "[loader][B015]") {
    const auto outcome = run_child(
        [](std::ostream& out) {
            if (!enter_small_shared_memory("size=1m"))
                return refused;
            for (int crash = 0; crash < 20; ++crash) {
                const pid_t child = ::fork();
                if (child == 0) {
                    ::setpgid(0, 0);
                    loader source{numbers{1000}, {.batch_size = 2, .num_workers = 2}};
                    for (int batch = 0; batch < 3; ++batch)
                        (void)source.next_blocking();
                    // Everything at once, so that nobody is left to clean up.
                    const auto workers = source.worker_processes();
                    ::kill(source.fork_server_process(), SIGKILL);
                    for (const pid_t worker : workers)
                        ::kill(worker, SIGKILL);
                    ::kill(::getpid(), SIGKILL);
                }
                int status = 0;
                ::waitpid(child, &status, 0);
                if (!WIFSIGNALED(status))
                    return 1;
            }
            {
                loader source{numbers{64}, {.batch_size = 2, .num_workers = 2}};
                if (read_epoch(source).size() != 32)
                    return 2;
            }
            const bool empty = holds_within(2s, [] { return used_of_shared_memory() == 0; });
            out << used_of_shared_memory() << " bytes used";
            return empty ? 0 : 3;
        },
        60s);
    if (skipped(outcome))
        return;
    CAPTURE(outcome.text);
    CHECK(outcome.succeeded());
}

TEST_CASE("sixteen processes that make loaders at the same moment do not meet", "[loader][B016]") {
    for (int round = 0; round < 20; ++round) {
        int start[2];
        REQUIRE(::pipe(start) == 0);
        std::vector<pid_t> processes;
        for (int number = 0; number < 16; ++number) {
            const pid_t child = ::fork();
            if (child == 0) {
                char byte = 0;
                ::close(start[1]);
                (void)!::read(start[0], &byte, 1);  // until all may begin
                int status = 1;
                try {
                    loader source{numbers{40}, {.batch_size = 4, .num_workers = 2}};
                    status = flatten(read_epoch(source)) == count_to(40) ? 0 : 2;
                } catch (...) {
                    status = 3;
                }
                ::_exit(status);
            }
            REQUIRE(child > 0);
            processes.push_back(child);
        }
        ::close(start[0]);
        ::close(start[1]);
        for (const pid_t process : processes) {
            int status = 0;
            REQUIRE(::waitpid(process, &status, 0) == process);
            CHECK(status == 0);
        }
    }
}

TEST_CASE("users beside each other neither meet nor see each other's batches", "[loader][B017]") {
    if (::geteuid() != 0) {
        WARN("skipped: becoming another user needs root");
        return;
    }
    loader source{numbers{4000}, {.batch_size = 2, .num_workers = 2}};
    const auto first = source.next_blocking();
    const pid_t owner = ::getpid();
    REQUIRE(holds_within(5s, [&] { return source.worker_processes().size() == 2; }));
    const pid_t worker = source.worker_processes().at(0);
    const auto outcome = run_child([&](std::ostream& out) {
        constexpr uid_t nobody = 65534;
        if (::setgid(nobody) != 0 || ::setuid(nobody) != 0)
            return refused;
        for (const pid_t process : {owner, worker}) {
            for (int number = 0; number < 64; ++number) {
                const std::string path =
                    "/proc/" + std::to_string(process) + "/fd/" + std::to_string(number);
                if (::open(path.c_str(), O_RDWR | O_CLOEXEC) >= 0) {
                    out << path << " can be opened";
                    return 1;
                }
            }
        }
        loader own{numbers{40}, {.batch_size = 4, .num_workers = 2}};
        return flatten(read_epoch(own)) == count_to(40) ? 0 : 2;
    });
    if (skipped(outcome))
        return;
    CAPTURE(outcome.text);
    CHECK(outcome.succeeded());
    CHECK(read_epoch(source).size() == 1999);
}

TEST_CASE("leaving main in the middle of an epoch leaves nothing in /dev/shm", "[loader][B022]") {
    const auto before = test_support::shared_memory_entries();
    const auto outcome = run_child([](std::ostream&) {
        static loader source{numbers{400}, {.batch_size = 4, .num_workers = 4}};
        for (int batch = 0; batch < 3; ++batch)
            (void)source.next_blocking();
        std::exit(0);  // destructors of what is static, as a return from main runs them
        return 1;
    });
    CAPTURE(outcome.text);
    CHECK(outcome.succeeded());
    CHECK(outcome.text.empty());
    CHECK(holds_within(2s, [&] {  // what others had may go meanwhile
        const auto now = test_support::shared_memory_entries();
        return std::includes(before.begin(), before.end(), now.begin(), now.end());
    }));
}

TEST_CASE("whoever removes our names from /dev/shm harms nobody", "[loader][B023]") {
    loader source{numbers{2000}, {.batch_size = 2, .num_workers = 3, .max_restarts = 100}};
    std::vector<std::int64_t> values;
    while (const auto batch = source.next_blocking()) {
        for (const std::int64_t value : batch[&number::value])
            values.push_back(value);
        for (const std::string& name : test_support::shared_memory_entries(::getpid()))
            std::filesystem::remove("/dev/shm/" + name);
        if (batch.number() % 250 == 100 && !source.worker_processes().empty())
            ::kill(source.worker_processes().front(), SIGKILL);  // its successor has new names
    }
    CHECK(values == count_to(2000));
}
