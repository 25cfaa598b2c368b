#include <chrono>
#include <exception>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <tuple>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>

#include "loader/loader_datasets.hpp"
#include "support/catch.hpp"
#include "support/no_descriptors.hpp"

using namespace stoker;
using namespace stoker::test_loader;
using namespace std::chrono_literals;
namespace asio = boost::asio;

namespace {

using number_loader = loader<numbers>;

asio::awaitable<void> read_epochs(number_loader& source, int epochs,
                                  std::vector<std::int64_t>& values) {
    for (int epoch = 0; epoch < epochs; ++epoch) {
        while (auto batch = co_await source.next()) {
            for (const auto value : batch[&number::value])
                values.push_back(value);
        }
    }
}

asio::awaitable<void> read_some(number_loader& source, int count, int& read) {
    for (int i = 0; i < count; ++i) {
        auto batch = co_await source.next();
        if (batch)
            ++read;
    }
}

}  // namespace

TEST_CASE("a coroutine awaits batches, and an idle loader lets run() return", "[loader]") {
    for (const int workers : {0, 1, 4}) {
        number_loader source{numbers{50}, {.batch_size = 7, .num_workers = workers}};
        asio::io_context io;
        std::vector<std::int64_t> values;
        asio::co_spawn(io, read_epochs(source, 2, values), rethrow);
        io.run();
        REQUIRE(values.size() == 100);
        CHECK(values[99] == 49);
        CHECK(io.stopped());
    }
}

TEST_CASE("a loader outlives its io_context and serves the next one", "[loader]") {
    number_loader source{numbers{40}, {.batch_size = 2, .num_workers = 2}};
    int read = 0;
    for (int context = 0; context < 3; ++context) {
        asio::io_context io;
        asio::co_spawn(io, read_some(source, 3, read), rethrow);
        io.run();
    }
    CHECK(read == 9);
    CHECK(source.next_blocking().number() == 9);
}

TEST_CASE("an io_context destroyed while next() is pending frees the loader", "[loader]") {
    loader source{slow_numbers{6, [](stoker::index) { return 50; }},
                  {.batch_size = 1, .num_workers = 1}};
    {
        asio::io_context io;
        asio::co_spawn(
            io,
            [](auto& from) -> asio::awaitable<void> { auto batch = co_await from.next(); }(source),
            asio::detached);
        io.run_for(5ms);
    }
    auto batch = source.next_blocking();
    CHECK(batch.number() == 0);
}

TEST_CASE("callbacks, futures and tuples receive batches", "[loader]") {
    number_loader source{numbers{8}, {.batch_size = 2, .num_workers = 2}};
    asio::io_context io;
    bool inside_call = true;
    std::optional<std::int64_t> first;
    source.next(asio::bind_executor(io.get_executor(),
                                    [&](std::exception_ptr failure, batch<number> batch) {
                                        CHECK_FALSE(inside_call);
                                        CHECK_FALSE(failure);
                                        first = batch[&number::value](0);
                                    }));
    inside_call = false;
    io.run();
    CHECK(first == 0);
    io.restart();
    auto future = source.next(asio::bind_executor(io.get_executor(), asio::use_future));
    io.run();
    CHECK(future.get().number() == 1);
    io.restart();
    asio::co_spawn(
        io,
        [](number_loader& from) -> asio::awaitable<void> {
            auto [failure, batch] = co_await from.next(asio::as_tuple(asio::use_awaitable));
            CHECK_FALSE(failure);
            CHECK(batch.number() == 2);
        }(source),
        rethrow);
    io.run();
}

TEST_CASE("errors of the dataset reach a coroutine, which goes on", "[loader]") {
    loader source{failing_numbers{6, 2}, {.batch_size = 2, .num_workers = 2}};
    asio::io_context io;
    int errors = 0, batches = 0;
    asio::co_spawn(
        io,
        [](auto& from, int& failed, int& good) -> asio::awaitable<void> {
            for (;;) {
                try {
                    auto batch = co_await from.next();
                    if (!batch)
                        co_return;
                    ++good;
                } catch (const error& e) {
                    CHECK(e.sample() == 2);
                    ++failed;
                }
            }
        }(source, errors, batches),
        rethrow);
    io.run();
    CHECK(errors == 1);
    CHECK(batches == 2);
}

TEST_CASE("a second next() while one is pending is refused", "[loader]") {
    loader source{slow_numbers{4, [](stoker::index) { return 30; }},
                  {.batch_size = 1, .num_workers = 1}};
    asio::io_context io;
    std::optional<errc> refused;
    int delivered = 0;
    const auto collect = [&](std::exception_ptr failure, batch<number> got) {
        if (got)
            ++delivered;
        if (!failure)
            return;
        try {
            std::rethrow_exception(failure);
        } catch (const error& e) {
            refused = e.code();
        }
    };
    source.next(asio::bind_executor(io.get_executor(), collect));
    source.next(asio::bind_executor(io.get_executor(), collect));
    CHECK_THROWS_AS(source.next_blocking(), error);
    CHECK_THROWS_AS(source.restart(3), error);
    io.run();
    CHECK(delivered == 1);
    CHECK(refused == errc::busy);
}

TEST_CASE("one waiter's time-out leaves the others waiting, and takes no batch", "[loader][B157]") {
    using namespace asio::experimental::awaitable_operators;
    loader slow{slow_numbers{4, [](stoker::index) { return 300; }},
                {.batch_size = 1, .num_workers = 1}};
    loader patient{slow_numbers{4, [](stoker::index) { return 300; }},
                   {.batch_size = 1, .num_workers = 1}};
    asio::io_context io;
    bool late = false;
    std::uint64_t next_number = 9;
    std::uint64_t patients_number = 9;
    const auto impatient = [&]() -> asio::awaitable<void> {
        asio::steady_timer timer(io, std::chrono::milliseconds(50));
        auto either = co_await (slow.next() || timer.async_wait(asio::use_awaitable));
        late = either.index() == 1;
        auto got = co_await slow.next();
        next_number = got.number();
    };
    const auto other = [&]() -> asio::awaitable<void> {
        auto got = co_await patient.next();
        patients_number = got.number();
    };
    asio::co_spawn(io, impatient, rethrow);
    asio::co_spawn(io, other, rethrow);
    io.run_for(std::chrono::seconds(20));
    REQUIRE(io.stopped());
    CHECK(late);
    CHECK(next_number == 0);
    CHECK(patients_number == 0);
}

TEST_CASE("every kind of cancellation ends a wait and takes nothing", "[loader]") {
    loader source{slow_numbers{9, [](stoker::index) { return 40; }},
                  {.batch_size = 1, .num_workers = 1}};
    std::uint64_t expected = 0;
    for (const auto kind : {asio::cancellation_type::total, asio::cancellation_type::partial,
                            asio::cancellation_type::terminal}) {
        asio::io_context io;
        asio::cancellation_signal signal;
        bool aborted = false;
        source.next(asio::bind_cancellation_slot(
            signal.slot(), asio::bind_executor(io.get_executor(), [&](std::exception_ptr failure,
                                                                      batch<number> got) {
                CHECK_FALSE(got);
                try {
                    if (failure)
                        std::rethrow_exception(failure);
                } catch (const boost::system::system_error& e) {
                    aborted = e.code() == asio::error::operation_aborted;
                }
            })));
        io.poll();
        signal.emit(kind);
        io.run();
        CHECK(aborted);
        CHECK(source.next_blocking().number() == expected++);
    }
}

TEST_CASE("a loader works on a strand of a thread pool", "[loader]") {
    number_loader source{numbers{300}, {.batch_size = 2, .num_workers = 2}};
    asio::thread_pool pool(3);
    std::vector<std::int64_t> values;
    auto done =
        asio::co_spawn(asio::make_strand(pool), read_epochs(source, 2, values), asio::use_future);
    done.get();
    pool.join();
    CHECK(values.size() == 600);
}

TEST_CASE("destroying a loader fails its pending next()", "[loader]") {
    asio::io_context io;
    bool failed = false;
    {
        loader source{slow_numbers{4, [](stoker::index) { return 10000; }},
                      {.batch_size = 1, .num_workers = 1}};
        source.next(asio::bind_executor(io.get_executor(),
                                        [&](std::exception_ptr failure, batch<number> got) {
                                            failed = failure != nullptr && !got;
                                        }));
        io.run_for(20ms);
    }
    io.run_for(5s);
    CHECK(failed);
}

TEST_CASE("batches may be released on another thread while the loader waits for a slot",
          "[loader]") {
    number_loader source{numbers{100}, {.batch_size = 1, .num_workers = 1, .prefetch_factor = 1}};
    std::vector<batch<number>> held;
    for (int i = 0; i < 3; ++i)
        held.push_back(source.next_blocking());
    std::thread releaser([&] {
        std::this_thread::sleep_for(50ms);
        held.erase(held.begin());
    });
    auto next = source.next_blocking();
    releaser.join();
    CHECK(next.number() == 3);
}

TEST_CASE("looking at a loader beside a pending next() does not put it to sleep", "[loader]") {
    loader source{slow_numbers{300, [](stoker::index) { return 1; }},
                  {.batch_size = 1, .num_workers = 2}};
    asio::io_context io;
    int read = 0;
    bool done = false;
    asio::co_spawn(
        io,
        [](auto& from, int& count, bool& over) -> asio::awaitable<void> {
            while (auto batch = co_await from.next())
                ++count;
            over = true;
        }(source, read, done),
        rethrow);
    asio::co_spawn(
        io,
        [](auto& from, const bool& over) -> asio::awaitable<void> {
            asio::steady_timer timer(co_await asio::this_coro::executor);
            while (!over) {
                timer.expires_after(std::chrono::microseconds(200));
                co_await timer.async_wait(asio::use_awaitable);
                (void)from.ready();
                (void)from.worker_processes();
            }
        }(source, done),
        rethrow);
    io.run_for(30s);
    CHECK(done);
    CHECK(read == 300);
}

TEST_CASE("a wait for which there is no descriptor fails next(), which can be called again",
          "[loader]") {
    loader source{slow_numbers{2, [](stoker::index) { return 100; }},
                  {.num_workers = 1, .name = "poor"}};
    asio::io_context poor;
    std::exception_ptr found;
    {
        const test_support::no_descriptors limit;
        source.next(asio::bind_executor(
            poor, [&](std::exception_ptr failure, auto) { found = std::move(failure); }));
        CHECK_NOTHROW(poor.run());
    }
    REQUIRE(found);
    CHECK_THROWS_AS(std::rethrow_exception(found), boost::system::system_error);
    asio::io_context io;
    int read = 0;
    asio::co_spawn(
        io,
        [](auto& from, int& count) -> asio::awaitable<void> {
            while (auto batch = co_await from.next())
                ++count;
        }(source, read),
        rethrow);
    io.run_for(30s);
    CHECK(read == 2);
}

TEST_CASE("an operation that begins after its loader is gone fails", "[loader]") {
    asio::io_context io;
    auto source = std::make_unique<number_loader>(numbers{8}, loader_options{.num_workers = 1});
    bool failed = false;
    asio::co_spawn(
        io,
        [](std::unique_ptr<number_loader>& from, bool& refused) -> asio::awaitable<void> {
            auto operation = from->next();
            from.reset();
            try {
                auto batch = co_await std::move(operation);
            } catch (const error& e) {
                refused = e.code() == errc::busy;
            }
        }(source, failed),
        rethrow);
    io.run_for(5s);
    CHECK(failed);
}
