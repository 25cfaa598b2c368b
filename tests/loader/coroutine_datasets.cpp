#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <unistd.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "loader/loader_datasets.hpp"
#include "support/catch.hpp"

using namespace stoker;
using namespace stoker::test_loader;
using namespace std::chrono_literals;
namespace asio = boost::asio;

namespace {

asio::awaitable<void> pause(std::chrono::microseconds span) {
    asio::steady_timer timer(co_await asio::this_coro::executor, span);
    co_await timer.async_wait(asio::use_awaitable);
}

struct text_sample {
    std::int64_t value = 0;
    tensor<std::int32_t, dynamic> digits{};
};

/// Each way of making samples, with the same contents: {i, i²}, after a wait that differs.
struct waiting_get {
    std::size_t size() const { return 100; }
    asio::awaitable<number> get(stoker::index i) const {
        co_await pause(std::chrono::microseconds(i * 37 % 11 * 100));
        co_return number{static_cast<std::int64_t>(i), static_cast<std::int32_t>(i * i)};
    }
};
struct waiting_read {
    std::size_t size() const { return 100; }
    asio::awaitable<void> read(stoker::index i, row<number> place) const {
        co_await pause(std::chrono::microseconds(i * 37 % 11 * 100));
        place[&number::value] = static_cast<std::int64_t>(i);
        place[&number::squared] = static_cast<std::int32_t>(i * i);
    }
};
struct waiting_batch {
    std::size_t size() const { return 100; }
    asio::awaitable<std::vector<number>> get(std::span<const stoker::index> all) const {
        co_await pause(200us);
        std::vector<number> made;
        for (const stoker::index i : all)
            made.push_back({static_cast<std::int64_t>(i), static_cast<std::int32_t>(i * i)});
        co_return made;
    }
};
struct plain_batch {
    std::size_t size() const { return 100; }
    std::vector<number> get(std::span<const stoker::index> all) const {
        std::vector<number> made;
        for (const stoker::index i : all)
            made.push_back({static_cast<std::int64_t>(i), static_cast<std::int32_t>(i * i)});
        return made;
    }
};

struct waiting_texts {
    std::size_t size() const { return 40; }
    asio::awaitable<text_sample> get(stoker::index i, context& c) const {
        co_await pause(std::chrono::microseconds(i * 37 % 11 * 100));
        text_sample made;
        made.value = static_cast<std::int64_t>(c.random());
        made.digits = tensor<std::int32_t, dynamic>(3);
        made.digits(2) = static_cast<std::int32_t>(i);
        co_return made;
    }
};
struct plain_texts {
    std::size_t size() const { return 40; }
    text_sample get(stoker::index i, context& c) const {
        text_sample made;
        made.value = static_cast<std::int64_t>(c.random());
        made.digits = tensor<std::int32_t, dynamic>(3);
        made.digits(2) = static_cast<std::int32_t>(i);
        return made;
    }
};

/// The bytes of all columns of all batches.
template <class Dataset>
std::vector<std::vector<std::byte>> all_bytes(Dataset dataset, loader_options options) {
    loader source{std::move(dataset), options};
    std::vector<std::vector<std::byte>> all;
    for (auto& batch : source) {
        const auto append = [&all](const auto&... columns) {
            const auto one = [&all](const auto& column) {
                const auto bytes = std::as_bytes(std::span(column.data(), column.size()));
                all.emplace_back(bytes.begin(), bytes.end());
            };
            (one(columns), ...);
        };
        std::apply(append, batch.columns());
    }
    return all;
}

}  // namespace

TEST_CASE("every kind of coroutine gives what a plain dataset gives", "[loader]") {
    const loader_options plain{.batch_size = 8, .shuffle = true, .seed = 5};
    const auto expected = all_bytes(numbers{100}, plain);
    REQUIRE(expected.size() == 26);
    for (const int workers : {0, 1, 3}) {
        for (const int in_flight : {1, 5, 64}) {
            const loader_options options{.batch_size = 8,
                                         .shuffle = true,
                                         .num_workers = workers,
                                         .in_flight = in_flight,
                                         .seed = 5};
            CHECK(all_bytes(waiting_get{}, options) == expected);
            CHECK(all_bytes(waiting_read{}, options) == expected);
            CHECK(all_bytes(waiting_batch{}, options) == expected);
            CHECK(all_bytes(plain_batch{}, options) == expected);
        }
    }
}

TEST_CASE("shapes of run time and contexts work through coroutines", "[loader]") {
    const auto expected = all_bytes(plain_texts{}, {.batch_size = 7, .shuffle = true});
    for (const int workers : {0, 2}) {
        CHECK(all_bytes(
                  waiting_texts{},
                  {.batch_size = 7, .shuffle = true, .num_workers = workers, .in_flight = 32}) ==
              expected);
    }
}

namespace {

/// Says how many of its coroutines are under way at most.
struct crowd {
    std::int64_t most = 0;
};
struct crowd_dataset {
    std::size_t count = 0;
    int now = 0;
    int most = 0;
    std::size_t size() const { return count; }
    asio::awaitable<crowd> get(stoker::index) {
        most = std::max(most, ++now);
        co_await pause(2ms);
        --now;
        co_return crowd{most};
    }
};

std::int64_t most_at_once(loader_options options) {
    loader source{crowd_dataset{64}, options};
    std::int64_t most = 0;
    for (auto& batch : source) {
        for (const auto each : batch[&crowd::most])
            most = std::max(most, each);
    }
    return most;
}

}  // namespace

TEST_CASE("in_flight samples are under way at once, over the batches of a worker", "[loader]") {
    CHECK(most_at_once({.batch_size = 4, .num_workers = 1, .in_flight = 1}) == 1);
    CHECK(most_at_once({.batch_size = 4, .num_workers = 1, .in_flight = 3}) == 3);
    CHECK(most_at_once(
              {.batch_size = 4, .num_workers = 1, .in_flight = 16, .prefetch_factor = 4}) == 16);
    CHECK(most_at_once(
              {.batch_size = 4, .num_workers = 1, .in_flight = 64, .prefetch_factor = 4}) == 16);
    CHECK(most_at_once({.batch_size = 8, .num_workers = 0, .in_flight = 64}) == 8);
}

namespace {

struct failing_waits {
    stoker::index culprit = 0;
    std::size_t size() const { return 40; }
    asio::awaitable<number> get(stoker::index i) const {
        co_await pause(500us);
        if (i == culprit)
            throw std::runtime_error("object " + std::to_string(i) + " is gone");
        co_return number{static_cast<std::int64_t>(i), 0};
    }
};

}  // namespace

TEST_CASE("a coroutine that throws costs its batch, and the error names its sample", "[loader]") {
    std::string told;
    for (const int workers : {0, 2}) {
        loader source{failing_waits{13}, {.batch_size = 5, .num_workers = workers}};
        std::size_t good = 0;
        int errors = 0;
        for (;;) {
            try {
                const auto batch = source.next_blocking();
                if (!batch)
                    break;
                good += batch.size();
            } catch (const error& failure) {
                ++errors;
                CHECK(failure.code() == errc::sample_failed);
                CHECK(failure.sample() == std::optional<stoker::index>(13));
                CHECK(failure.type() == "std::runtime_error");
                CHECK(failure.text() == "object 13 is gone");
                CHECK(failure.worker() == (workers == 0 ? -1 : 0));
            }
        }
        CHECK(good == 35);
        CHECK(errors == 1);
    }
}

namespace {

/// One sample never comes; it can be cancelled, and says so.
struct stuck_waits {
    stoker::index culprit = 0;
    std::size_t size() const { return 24; }
    asio::awaitable<number> get(stoker::index i) const {
        co_await pause(i == culprit ? std::chrono::microseconds(1h) : 100us);
        co_return number{static_cast<std::int64_t>(i), 0};
    }
};

}  // namespace

TEST_CASE("a sample that passes its deadline is cancelled, and nothing else is", "[loader]") {
    for (const int workers : {0, 1, 2}) {
        loader source{stuck_waits{9},
                      {.batch_size = 4, .num_workers = workers, .sample_timeout = 100ms}};
        const auto processes = source.worker_processes();
        std::size_t good = 0;
        int late = 0;
        for (;;) {
            try {
                const auto batch = source.next_blocking();
                if (!batch)
                    break;
                good += batch.size();
            } catch (const error& failure) {
                ++late;
                CHECK(failure.code() == errc::timed_out);
                CHECK(failure.sample() == std::optional<stoker::index>(9));
                CHECK(failure.text().find("100 ms") != std::string::npos);
            }
        }
        CHECK(good == 20);
        CHECK(late == 1);
        for (const pid_t pid : processes) {  // no worker had to die for it
            const auto after = source.worker_processes();
            CHECK(std::find(after.begin(), after.end(), pid) != after.end());
        }
    }
}

TEST_CASE("sample_timeout is refused where nothing can be interrupted", "[loader]") {
    try {
        loader source{numbers{4}, {.sample_timeout = 10ms}};
        FAIL("it was taken");
    } catch (const error& failure) {
        CHECK(failure.code() == errc::invalid_option);
        CHECK(failure.text().find("sample_timeout is 10 ms") != std::string::npos);
    }
    CHECK_THROWS_AS((loader{waiting_get{}, {.sample_timeout = -1ms}}), error);
    CHECK_THROWS_AS((loader{waiting_get{}, {.in_flight = 0}}), error);
    CHECK_THROWS_AS((loader{numbers{4}, {.in_flight = 65537}}), error);
}

TEST_CASE("timeout names the sample that a coroutine waits for, and replaces the worker",
          "[loader]") {
    loader source{stuck_waits{2}, {.batch_size = 4, .num_workers = 1, .timeout = 300ms}};
    try {
        (void)source.next_blocking();
        FAIL("it came");
    } catch (const error& failure) {
        CHECK(failure.code() == errc::timed_out);
        CHECK(failure.sample() == std::optional<stoker::index>(2));
        CHECK(failure.worker() == 0);
    }
    std::size_t good = 0;  // the epoch goes on with a fresh worker
    while (const auto batch = source.next_blocking())
        good += batch.size();
    CHECK(good == 20);
}

namespace {

/// The first epoch waits for ever; what ends it is written down.
struct first_epoch_stuck {
    std::string log;
    std::size_t size() const { return 8; }
    asio::awaitable<number> get(stoker::index i, context& c) const {
        if (c.epoch() == 0 && i >= 4) {
            try {
                co_await pause(1h);
            } catch (const boost::system::system_error&) {
                std::ofstream(log, std::ios::app) << "cancelled\n" << std::flush;
                throw;
            }
        }
        co_return number{static_cast<std::int64_t>(i), static_cast<std::int32_t>(c.epoch())};
    }
};

struct temporary_file {
    temporary_file() {
        std::array<char, 32> name{"/tmp/stoker-test-XXXXXX"};
        ::close(::mkstemp(name.data()));
        path = name.data();
    }
    temporary_file(const temporary_file&) = delete;
    temporary_file& operator=(const temporary_file&) = delete;
    ~temporary_file() { ::unlink(path.c_str()); }
    std::string path;
};

}  // namespace

TEST_CASE("coroutines of an epoch that is given up are cancelled", "[loader]") {
    const temporary_file log;
    loader source{first_epoch_stuck{log.path}, {.batch_size = 4, .num_workers = 1}};
    REQUIRE(source.next_blocking().size() == 4);  // the other batch never comes
    source.restart();
    std::size_t good = 0;
    while (const auto batch = source.next_blocking()) {
        CHECK(batch.epoch() == 1);
        good += batch.size();
    }
    CHECK(good == 8);
    std::ifstream in(log.path);
    std::string line;
    int cancelled = 0;
    while (std::getline(in, line))
        ++cancelled;
    CHECK(cancelled == 4);
}

namespace {

struct closed_port {
    std::size_t size() const { return 8; }
    asio::awaitable<void> open() {
        co_await pause(1ms);
        throw std::runtime_error("nobody listens");
    }
    asio::awaitable<number> get(stoker::index i) {
        co_return number{static_cast<std::int64_t>(i), 0};
    }
};

struct short_batches {
    std::size_t size() const { return 8; }
    std::vector<number> get(std::span<const stoker::index> all) const {
        return std::vector<number>(all.size() - 1);
    }
};

struct drawn_batches {
    std::size_t size() const { return 50; }
    std::vector<drawn> get(std::span<const stoker::index> all, const batch_context& c) const {
        std::vector<drawn> made;
        for (std::size_t i = 0; i < all.size(); ++i) {
            context own = c.sample(i);
            made.push_back({own.random(), own.epoch(), own.position()});
        }
        return made;
    }
};
struct drawn_singly {
    std::size_t size() const { return 50; }
    drawn get(stoker::index, context& c) const {
        const auto bits = c.random();
        return {bits, c.epoch(), c.position()};
    }
};

}  // namespace

TEST_CASE("an open() that fails is the error of each batch", "[loader]") {
    for (const int workers : {0, 1}) {
        loader source{closed_port{}, {.batch_size = 4, .num_workers = workers}};
        for (int i = 0; i < 2; ++i) {
            try {
                (void)source.next_blocking();
                FAIL("it came");
            } catch (const error& failure) {
                CHECK(failure.code() == errc::worker_start_failed);
                CHECK(failure.text() == "nobody listens");
            }
        }
    }
}

TEST_CASE("a batched get gives one sample for each index, or an error", "[loader]") {
    for (const int workers : {0, 1}) {
        loader source{short_batches{}, {.batch_size = 4, .num_workers = workers}};
        try {
            (void)source.next_blocking();
            FAIL("it came");
        } catch (const error& failure) {
            CHECK(failure.code() == errc::collate_failed);
            CHECK(failure.text() == "get(span of indices) was asked for 4 samples and gave 3");
        }
    }
}

TEST_CASE("a batched get draws what single ones would draw", "[loader]") {
    const loader_options options{.batch_size = 8, .shuffle = true, .num_workers = 2, .seed = 3};
    CHECK(all_bytes(drawn_batches{}, options) == all_bytes(drawn_singly{}, options));
}

TEST_CASE("a loader of coroutines ends at once, whatever its workers wait for", "[loader]") {
    const auto started = std::chrono::steady_clock::now();
    {
        loader source{stuck_waits{0}, {.batch_size = 4, .num_workers = 2}};
        (void)source.try_next();
    }
    // About a second is the loader's own bound; the rest is for a busy machine.
    CHECK(std::chrono::steady_clock::now() - started < 10s);
}
