#include "worker/worker_process.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "support/catch.hpp"
#include "support/run_child.hpp"
#include "worker_rig.hpp"

namespace stoker::detail {
namespace {

using namespace std::chrono_literals;
using namespace worker_test;

TEST_CASE("what open throws is the answer to every task, with worker and type", "[worker]") {
    number_fetcher source([](index) { return 0; },
                          [] { throw std::invalid_argument("no such server"); });
    small_main main = start(source, 2);
    for (int round = 0; round < 3; ++round) {
        const auto got = main.fetch(1, {1});
        REQUIRE(got);
        REQUIRE(got->status == result_status::failed);
        CHECK(got->failure.code == errc::worker_start_failed);
        CHECK(got->failure.text == "no such server");
        CHECK(got->failure.type == "std::invalid_argument");
        CHECK(got->failure.worker == 1);
        CHECK(got->failure.pid == main.worker(1).pid);
    }
}

TEST_CASE("open runs once in each worker, before its first batch", "[worker]") {
    static int opened = 0;
    number_fetcher source([](index) { return opened; }, [] { ++opened; });
    small_main main = start(source, 2);
    for (int worker = 0; worker < 2; ++worker) {
        CHECK(main.fetch(worker, {1})->values.at(0) == 1);
        CHECK(main.fetch(worker, {1})->values.at(0) == 1);
    }
    CHECK(opened == 0);
}

TEST_CASE("a failing sample is reported and the worker goes on", "[worker]") {
    const std::string long_text(64 * 1024, 'l');
    number_fetcher source([&](index i) -> std::int64_t {
        if (i == 13)
            throw std::runtime_error(long_text);
        return 1;
    });
    small_main main = start(source, 1);
    const auto bad = main.fetch(0, {1, 13, 2});
    REQUIRE(bad->status == result_status::failed);
    CHECK(bad->failure.text == long_text);
    CHECK(bad->failure.sample == index{13});
    CHECK(bad->failure.pid == main.worker(0).pid);
    CHECK(main.fetch(0, {1})->status == result_status::ready);
}

TEST_CASE("a stale task is dropped unread", "[worker]") {
    static int made = 0;
    number_fetcher source([](index) { return ++made; });
    small_main main = start(source, 1);
    main.send(0, {1}, 99);
    CHECK(main.receive(0)->status == result_status::dropped);
    CHECK(main.fetch(0, {1})->values.at(0) == 1);
}

TEST_CASE("a batch whose epoch is given up stops between samples", "[worker]") {
    number_fetcher source([](index) -> std::int64_t {
        std::this_thread::sleep_for(10ms);
        return 1;
    });
    small_main main = start(source, 1);
    main.send(0, std::vector<index>(16, 5));
    worker_words& words = main.control().worker(0);
    REQUIRE(test_support::holds_within(patience, [&] { return words.sample.load() == 5; }));
    main.control().words().generation.store(2);
    CHECK(main.receive(0)->status == result_status::dropped);
}

TEST_CASE("breadcrumbs tell the task, the sample and the phase", "[worker]") {
    number_fetcher source([](index i) -> std::int64_t {
        while (i == 42)
            ::pause();
        return 0;
    });
    small_main main = start(source, 1);
    main.fetch(0, {1});
    worker_words& words = main.control().worker(0);
    main.send(0, {7, 42});
    CHECK(test_support::holds_within(patience, [&] { return words.sample.load() == 42; }));
    CHECK(words.sequence.load() == 2);
    CHECK(words.phase.load() == static_cast<std::uint32_t>(worker_phase::fetching));
}

TEST_CASE("a stop task ends a worker with status 0 after the tasks before it", "[worker]") {
    number_fetcher source([](index) { return 1; });
    small_main main = start(source, 1);
    main.send(0, {1});
    main.send(0, {}, 1, task_kind::stop);
    CHECK(main.receive(0)->status == result_status::ready);
    CHECK(ends(main.worker(0).pidfd.get()));
    const auto event = main.wait_event(server_event::kind::exited);
    CHECK(event->code == CLD_EXITED);
    CHECK(event->status == 0);
}

/// Its destructor removes a directory, as that of a dataset with a cache may.
class cached_fetcher final : public number_fetcher {
  public:
    explicit cached_fetcher(std::string directory)
        : number_fetcher([](index i) -> std::int64_t {
              if (i == 5)
                  std::exit(0);
              return 1;
          }),
          directory_(std::move(directory)) {
        std::filesystem::create_directory(directory_);
    }
    ~cached_fetcher() override { std::filesystem::remove_all(directory_); }

  private:
    std::string directory_;
};

TEST_CASE("the dataset is destroyed by its owner only, static ones included", "[worker]") {
    const std::string directory = "/tmp/stoker_cache_" + std::to_string(::getpid());
    {
        static cached_fetcher by_static(directory + "_static");
        cached_fetcher source(directory);
        small_main main = start(source, 2);
        small_main other = start(by_static, 1);
        main.send(0, {}, 1, task_kind::stop);
        main.send(1, {5});  // exit() in the middle of a batch
        other.send(0, {5});
        CHECK(ends(main.worker(0).pidfd.get()));
        CHECK(ends(main.worker(1).pidfd.get()));
        CHECK(ends(other.worker(0).pidfd.get()));
        main.link().close();
        CHECK(ends(main.link().pidfd()));
        CHECK(std::filesystem::exists(directory));
        CHECK(std::filesystem::exists(directory + "_static"));
    }
    CHECK_FALSE(std::filesystem::exists(directory));
}

TEST_CASE("an idle worker has its home slots populated before they are needed", "[worker]") {
    number_fetcher source([](index) -> std::int64_t {
        std::ifstream file("/proc/self/smaps");
        std::string line;
        bool here = false;
        while (std::getline(file, line)) {
            if (line.find("memfd:stoker-slots") != std::string::npos)
                here = true;
            if (here && line.starts_with("Rss:"))
                return std::stol(line.substr(4));
        }
        return -1;
    });
    small_main main = start(source, 1);
    const auto known_kib = 8 * 4;  // 8 slots of a page and less
    CHECK(test_support::holds_within(
        patience, [&] { return main.fetch(0, {1})->values.at(0) >= known_kib; }));
}

TEST_CASE("a worker that keeps getting tasks sleeps and wakes without loss", "[worker]") {
    number_fetcher source([](index i) { return static_cast<std::int64_t>(i); });
    small_main main = start(source, 1);
    for (index i = 0; i < 3000; ++i) {
        if (i % 100 == 0)
            std::this_thread::sleep_for(1ms);
        main.send(0, {i});
        const auto got = main.receive(0);
        REQUIRE(got);
        REQUIRE(got->values == std::vector<std::int64_t>{static_cast<std::int64_t>(i)});
    }
}

TEST_CASE("workers go first when memory runs out", "[worker]") {
    const auto score = [] {
        std::ifstream file("/proc/self/oom_score_adj");
        std::int64_t value = 0;
        file >> value;
        return value;
    };
    number_fetcher source([&](index) { return score(); });
    small_main main = start(source, 1);
    const auto got = main.fetch(0, {1});
    CHECK((got->values.at(0) > score() || score() == 1000));
}

}  // namespace
}  // namespace stoker::detail
