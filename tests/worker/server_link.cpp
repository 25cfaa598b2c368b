#include "worker/server_link.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>
#include <type_traits>

#include "support/catch.hpp"
#include "support/run_child.hpp"
#include "worker/worker_process.hpp"
#include "worker_rig.hpp"

namespace stoker::detail {
namespace {

using namespace std::chrono_literals;
using namespace worker_test;
using test_support::run_child;

static_assert(!std::is_copy_constructible_v<server_link>);
static_assert(std::is_nothrow_move_constructible_v<server_link>);
static_assert(std::is_nothrow_move_assignable_v<server_link>);

std::string first_line(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

bool nothing_left() {
    return test_support::holds_within(5s, [] { return test_support::descendants().empty(); });
}

TEST_CASE("workers make batches, each in a process of its own", "[worker]") {
    number_fetcher source([](index i) { return i == 0 ? ::getpid() : static_cast<long>(i) * 3; });
    small_main main = start(source, 2);
    for (int worker = 0; worker < 2; ++worker) {
        const auto got = main.fetch(worker, {0, 1, 2});
        REQUIRE(got);
        REQUIRE(got->status == result_status::ready);
        CHECK(got->values == std::vector<std::int64_t>{main.worker(worker).pid, 3, 6});
    }
}

TEST_CASE("names of queues are gone once their worker has begun", "[worker]") {
    number_fetcher source = identity();
    small_main main = start(source, 2);
    main.fetch(0, {1});
    main.fetch(1, {1});
    CHECK(test_support::shared_memory_entries(::getpid()).empty());
}

TEST_CASE("with another thread the fork is refused, naming the thread and what to do", "[worker]") {
    std::atomic<bool> stop{false};
    std::thread thread([&] {
        ::pthread_setname_np(::pthread_self(), "resolver");
        while (!stop)
            std::this_thread::sleep_for(1ms);
    });
    test_support::holds_within(5s, [] {
        for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
            if (first_line(entry.path().string() + "/comm") == "resolver")
                return true;
        }
        return false;
    });
    number_fetcher source = identity();
    std::optional<error> refusal;
    try {
        server_link::fork_here(source, "rig", false);
    } catch (const error& failure) {
        refusal = failure;
    }
    bool tolerated = false;
    {
        small_main main(server_link::fork_here(source, "rig", true), 1);
        const auto got = main.fetch(0, {4});
        tolerated = got && got->values == std::vector<std::int64_t>{4};
    }
    stop = true;
    thread.join();
    REQUIRE(refusal);
    CHECK(refusal->code() == errc::threads_at_fork);
    CHECK_THAT(refusal->text(), Catch::Matchers::ContainsSubstring("\"resolver\""));
    CHECK_THAT(refusal->remedy(), Catch::Matchers::ContainsSubstring("first in main"));
    CHECK_THAT(refusal->remedy(), Catch::Matchers::ContainsSubstring("stoker::fork_server forks;"));
    CHECK_THAT(refusal->remedy(), Catch::Matchers::ContainsSubstring("forks.dataset("));
    CHECK(tolerated);
}

std::atomic<int> child_signals{0};

TEST_CASE("the host sees no child and gets no SIGCHLD", "[worker]") {
    const auto outcome = run_child([](std::ostream& out) {
        std::signal(SIGCHLD, [](int) { ++child_signals; });
        number_fetcher source = identity();
        small_main main = start(source, 2);
        main.fetch(0, {1});
        int waited = 0;
        while (::wait(nullptr) > 0)
            ++waited;
        ::kill(main.worker(1).pid, SIGKILL);
        main.wait_event(server_event::kind::exited);
        main.link().close();
        ends(main.link().pidfd());
        out << "waited " << waited << ", children " << test_support::children().size()
            << ", signals " << child_signals;
        return 0;
    });
    CHECK_FALSE(outcome.timed_out);
#if defined(__SANITIZE_THREAD__)
    CHECK_THAT(outcome.text, Catch::Matchers::ContainsSubstring("waited 0, children 0"));
#else
    CHECK(outcome.text == "waited 0, children 0, signals 0");
#endif
}

TEST_CASE("a worker that cannot open its queues says why", "[worker]") {
    number_fetcher source = identity();
    small_main main = start(source, 1);
    const doorbell bell = doorbell::create();
    main.link().spawn(0, {"stoker-no-such-tasks", "stoker-no-such-results"}, bell.number());
    const auto event = main.wait_event(server_event::kind::exited);
    REQUIRE(event);
    CHECK(event->status == worker_start_status);
    CHECK_THAT(event->text, Catch::Matchers::ContainsSubstring("stoker-no-such-tasks"));
}

TEST_CASE("a file that was open before the fork has an offset of each worker's own", "[worker]") {
    const std::string path = "/tmp/stoker_offset_" + std::to_string(::getpid());
    {
        std::ofstream file(path, std::ios::binary);
        for (std::int64_t i = 0; i < 1000; ++i)
            file.write(reinterpret_cast<const char*>(&i), sizeof i);
    }
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    ::unlink(path.c_str());
    REQUIRE(::lseek(file, 80, SEEK_SET) == 80);
    // Reads on from where it is: two workers that share an offset would share the numbers out.
    number_fetcher source([file](index) -> std::int64_t {
        std::int64_t value = -1;
        return ::read(file, &value, sizeof value) == sizeof value ? value : -1;
    });
    small_main main = start(source, 2);
    for (int round = 0; round < 5; ++round) {
        for (int worker = 0; worker < 2; ++worker) {
            const auto got = main.fetch(worker, {0, 1});
            CHECK(got->values == std::vector<std::int64_t>{10 + 2 * round, 11 + 2 * round});
        }
    }
    CHECK(::lseek(file, 0, SEEK_CUR) == 80);
    ::close(file);
}

TEST_CASE("text that waits in stdio is written once", "[worker]") {
    const auto outcome = run_child([](std::ostream&) {
        std::printf("[from main]");
        number_fetcher source([](index) -> std::int64_t {
            std::printf("[from a worker]");
            return 0;
        });
        small_main main = start(source, 1);
        main.fetch(0, {1});
        main.send(0, {}, 1, task_kind::stop);
        ends(main.worker(0).pidfd.get());
        main.link().close();
        ends(main.link().pidfd());
        return 0;
    });
    CHECK(outcome.text == "[from main][from a worker]");
}

TEST_CASE("descriptors of main stay flat over a hundred servers", "[worker]") {
    number_fetcher source = identity();
    { small_main main = start(source, 1); }
    const std::size_t before = test_support::open_descriptor_count();
    for (int round = 0; round < 100; ++round)
        server_link::fork_here(source, "rig", false);
    CHECK(test_support::open_descriptor_count() == before);
    CHECK(nothing_left());
}

}  // namespace
}  // namespace stoker::detail
