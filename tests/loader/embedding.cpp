// Loaders inside programs that do other things as well, in the ways that Asio offers.

#include <chrono>
#include <cstdint>
#include <exception>
#include <future>
#include <memory>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include "loader/loader_datasets.hpp"
#include "support/catch.hpp"
#include "support/leaks.hpp"

using namespace stoker;
using namespace stoker::test_loader;
using namespace std::chrono_literals;
namespace asio = boost::asio;

namespace {

using number_loader = loader<numbers>;
using value_list = std::vector<std::int64_t>;

void append(value_list& values, const batch<number>& got) {
    const auto column = got[&number::value];
    values.insert(values.end(), column.begin(), column.end());
}

template <class Loader>
asio::awaitable<void> read_all(Loader& source, int epochs, value_list& values) {
    for (int epoch = 0; epoch < epochs; ++epoch) {
        while (auto batch = co_await source.next())
            append(values, batch);
    }
}

/// Reads an epoch by callbacks, each of which asks for the next batch.
class callback_reader {
  public:
    callback_reader(number_loader& source, asio::any_io_executor executor)
        : source_(source), executor_(std::move(executor)) {}

    void go_on() {
        source_.next(asio::bind_executor(
            executor_, [this](const std::exception_ptr& failure, const batch<number>& got) {
                if (failure || !got) {
                    ended = !failure;
                    return;
                }
                append(values, got);
                go_on();
            }));
    }
    value_list values{};
    bool ended = false;

  private:
    number_loader& source_;
    asio::any_io_executor executor_;
};

value_list twice(std::int64_t count) {
    value_list all = count_to(count);
    const value_list again = all;
    all.insert(all.end(), again.begin(), again.end());
    return all;
}

}  // namespace

TEST_CASE("callbacks that ask for the next batch read an epoch", "[loader]") {
    for (const int workers : {0, 2}) {
        number_loader source{numbers{50}, {.batch_size = 4, .num_workers = workers}};
        asio::io_context io;
        callback_reader reader(source, io.get_executor());
        reader.go_on();
        CHECK(reader.values.empty());
        io.run_for(30s);
        CHECK(reader.ended);
        CHECK(reader.values == count_to(50));
    }
}

TEST_CASE("a thread that is no part of the event loop waits by future", "[loader]") {
    for (const int workers : {0, 2}) {
        number_loader source{numbers{40}, {.batch_size = 4, .num_workers = workers}};
        asio::thread_pool pool(2);
        const auto strand = asio::make_strand(pool);
        value_list values;
        for (;;) {
            std::future<batch<number>> future =
                source.next(asio::bind_executor(strand, asio::use_future));
            REQUIRE(future.wait_for(30s) == std::future_status::ready);
            const batch<number> got = future.get();
            if (!got)
                break;
            append(values, got);
        }
        CHECK(values == count_to(40));
        loader failing{failing_numbers{4, 0}};
        auto failed = failing.next(asio::bind_executor(strand, asio::use_future));
        CHECK_THROWS_AS(failed.get(), error);
        pool.join();
    }
}

TEST_CASE("an operation made by the deferred token starts when it is awaited", "[loader]") {
    number_loader source{numbers{3}, {.num_workers = 1}};
    asio::io_context io;
    value_list values;
    const auto body = [&]() -> asio::awaitable<void> {
        auto later = source.next(asio::deferred);
        auto first = co_await source.next();
        append(values, first);
        auto second = co_await std::move(later)(asio::use_awaitable);
        append(values, second);
    };
    asio::co_spawn(io, body, rethrow);
    io.run_for(30s);
    CHECK(values == value_list{0, 1});
}

TEST_CASE("two loaders serve two coroutines of one event loop, beside a timer", "[loader]") {
    number_loader train{numbers{200}, {.batch_size = 4, .num_workers = 2, .epochs = 2}};
    number_loader check{numbers{90}, {.batch_size = 3, .num_workers = 1, .epochs = 2}};
    asio::io_context io;
    value_list trained, checked;
    int ticks = 0;
    int running = 2;
    const auto read = [&](number_loader& source, value_list& values) -> asio::awaitable<void> {
        co_await read_all(source, 2, values);
        --running;
    };
    const auto tick = [&]() -> asio::awaitable<void> {
        asio::steady_timer timer(co_await asio::this_coro::executor);
        while (running > 0) {
            ++ticks;
            timer.expires_after(100us);
            co_await timer.async_wait(asio::use_awaitable);
        }
    };
    asio::co_spawn(io, read(train, trained), rethrow);
    asio::co_spawn(io, read(check, checked), rethrow);
    asio::co_spawn(io, tick, rethrow);
    io.run_for(30s);
    CHECK(io.stopped());
    CHECK(trained == twice(200));
    CHECK(checked == twice(90));
    CHECK(ticks > 0);
}

TEST_CASE("loaders on strands of one thread pool do not meet", "[loader]") {
    number_loader first{numbers{300}, {.batch_size = 2, .num_workers = 2}};
    number_loader second{numbers{300}, {.batch_size = 5, .num_workers = 1}};
    number_loader here{numbers{300}, {.batch_size = 7}};
    value_list values[3];
    asio::thread_pool pool(4);
    std::vector<std::future<void>> done;
    number_loader* sources[] = {&first, &second, &here};
    for (int i = 0; i < 3; ++i) {
        done.push_back(asio::co_spawn(asio::make_strand(pool), read_all(*sources[i], 2, values[i]),
                                      asio::use_future));
    }
    for (auto& each : done) {
        REQUIRE(each.wait_for(60s) == std::future_status::ready);
        each.get();
    }
    pool.join();
    for (const value_list& each : values)
        CHECK(each == twice(300));
}

TEST_CASE("a loader is moved from one kind of waiting to another within an epoch", "[loader]") {
    number_loader source{numbers{40}, {.batch_size = 2, .num_workers = 2}};
    value_list values;
    append(values, source.next_blocking());
    for (int context = 0; context < 2; ++context) {
        asio::io_context io;
        const auto body = [&]() -> asio::awaitable<void> {
            for (int i = 0; i < 3; ++i) {
                auto batch = co_await source.next();
                append(values, batch);
            }
        };
        asio::co_spawn(io, body, rethrow);
        io.run_for(30s);
        CHECK(io.stopped());
    }
    {
        asio::thread_pool pool(1);
        append(values,
               source.next(asio::bind_executor(pool.get_executor(), asio::use_future)).get());
        pool.join();
    }
    while (!source.ready())
        test_support::pause_between_looks();
    append(values, *source.try_next());
    while (auto batch = source.next_blocking())
        append(values, batch);
    CHECK(values == count_to(40));
}

TEST_CASE("event loops that end with a next() pending leave the loader whole", "[loader]") {
    loader source{slow_numbers{60, [](stoker::index) { return 2; }}, {.num_workers = 2}};
    value_list values;
    bool ended = false;
    for (int round = 0; round < 30 && !ended; ++round) {
        asio::io_context io;
        const auto body = [&]() -> asio::awaitable<void> {
            for (;;) {
                auto batch = co_await source.next();
                ended = !batch;
                if (ended)
                    co_return;
                append(values, batch);
            }
        };
        asio::co_spawn(io, body, asio::detached);
        io.run_for(1ms);
    }
    while (!ended) {
        auto batch = source.next_blocking();
        ended = !batch;
        if (batch)
            append(values, batch);
    }
    CHECK(values == count_to(60));
}

TEST_CASE("a loader that is destroyed with a next() pending ends it and its processes",
          "[loader]") {
    asio::io_context io;
    int failed = 0;
    // Outlives its coroutines, which look for what it captures in it.
    const auto body = [&failed](loader<slow_numbers>& from) -> asio::awaitable<void> {
        try {
            auto batch = co_await from.next();
        } catch (const error&) {
            ++failed;
        }
    };
    for (int round = 0; round < 10; ++round) {
        auto source = std::make_unique<loader<slow_numbers>>(
            slow_numbers{4, [](stoker::index) { return 100'000; }},
            loader_options{.num_workers = 2});
        asio::co_spawn(io, body(*source), rethrow);
        io.restart();
        io.poll();  // it waits from here on
        io.run_for(std::chrono::milliseconds(round % 3));
    }
    io.restart();
    io.run_for(20s);
    CHECK(io.stopped());
    CHECK(failed == 10);
    CHECK(test_support::holds_within(10s, [] { return test_support::descendants().empty(); }));
}
