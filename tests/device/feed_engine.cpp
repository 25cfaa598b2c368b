// next() and completed() as operations: on any executor, cancelled, abandoned, failing.

#include <atomic>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <chrono>
#include <thread>

#include <stoker/runtime/rethrow.hpp>
#include "device/device_rig.hpp"
#include "support/no_descriptors.hpp"

using namespace device_rig;
namespace asio = boost::asio;

namespace {

using word_feed = stoker::device_feed<words>;
using word_batch = stoker::device_batch<words>;

word_feed make_word_feed(stoker::feed_options options = {}) {
    stoker::loader loader{word_dataset{}, {.batch_size = 4, .epochs = stoker::endless}};
    return word_feed{std::move(loader), simulated_device(), std::move(options)};
}

asio::awaitable<void> train(word_feed& feed, consumer& eyes, int batches) {
    for (int i = 0; i < batches; ++i) {
        auto batch = co_await feed.next();
        const auto on = batch.on(eyes.stream());
        device_record record;
        record.data = reinterpret_cast<std::byte*>(on[&words::values].data());
        record.indices.assign(batch.indices().begin(), batch.indices().end());
        record.records.resize(2);
        record.records[1].offset = static_cast<std::uint64_t>(
            reinterpret_cast<std::byte*>(on[&words::label].data()) - record.data);
        eyes.enqueue(eyes.stream(), record);
    }
    co_await feed.completed(eyes.stream());
}

}  // namespace

TEST_CASE("a training loop reads like the loader's, and every batch is right") {
    simulated_platform platform(quick());
    word_feed feed = make_word_feed();
    consumer eyes(platform, {});
    asio::io_context io;
    asio::co_spawn(io, train(feed, eyes, 200), stoker::rethrow);
    io.run();
    CHECK(eyes.bad() == 0);
    CHECK(platform.violations() == std::vector<std::string>{});
}

TEST_CASE("completed() waits for a stream while the io_context does other work") {
    simulated_platform platform(quick());
    word_feed feed = make_word_feed();
    consumer eyes(platform, {});
    asio::io_context io;
    std::atomic<bool> open{false};
    bool done = false;
    int ticks = 0;
    platform.enqueue(eyes.stream(), [&] {
        while (!open.load())
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
    feed.completed(eyes.stream(), asio::bind_executor(io, [&](const std::exception_ptr& failure) {
                       CHECK_FALSE(failure);
                       done = true;
                   }));
    CHECK_FALSE(done);
    asio::steady_timer timer(io);
    for (; ticks < 5; ++ticks) {
        timer.expires_after(std::chrono::milliseconds(1));
        timer.async_wait([](boost::system::error_code) {});
        io.run_one();
        CHECK_FALSE(done);
    }
    open = true;
    io.run();
    CHECK(done);
}

TEST_CASE("completed() on a stream that is captured fails, in its handler") {
    simulated_platform platform(quick());
    word_feed feed = make_word_feed();
    consumer eyes(platform, {});
    asio::io_context io;
    platform.begin_capture(eyes.stream(), cuda_flag::capture_mode_global);
    std::exception_ptr found;
    feed.completed(eyes.stream(), asio::bind_executor(io, [&](std::exception_ptr failure) {
                       found = std::move(failure);
                   }));
    CHECK_FALSE(found);
    io.run();
    REQUIRE(found);
    CHECK(error_of([&] { std::rethrow_exception(found); }).code() == stoker::errc::stream_captured);
    CHECK(platform.end_capture(eyes.stream()));
}

TEST_CASE("waits for which there is no descriptor fail in their handlers") {
    simulated_platform platform(quick());
    word_feed feed = make_word_feed({.depth = 1});
    consumer eyes(platform, {});
    word_batch first = feed.next_blocking();
    word_batch second = feed.next_blocking();
    std::exception_ptr of_next;
    std::exception_ptr of_stream;
    asio::io_context poor;
    {
        const stoker::test_support::no_descriptors limit(1);  // for what tells of the stream
        feed.completed(eyes.stream(), asio::bind_executor(poor, [&](std::exception_ptr failure) {
                           of_stream = std::move(failure);
                       }));
        CHECK_FALSE(of_stream);
        CHECK_NOTHROW(poor.run());
    }
    REQUIRE(of_stream);
    asio::io_context poorer;
    {
        const stoker::test_support::no_descriptors limit;
        feed.next(asio::bind_executor(
            poorer, [&](std::exception_ptr failure, word_batch) { of_next = std::move(failure); }));
        CHECK_NOTHROW(poorer.run());
    }
    REQUIRE(of_next);
    CHECK_THROWS_AS(std::rethrow_exception(of_next), boost::system::system_error);
    first = {};
    CHECK(feed.next_blocking());
}

TEST_CASE("a next() that waits for room is cancelled and takes nothing") {
    simulated_platform platform(quick());
    word_feed feed = make_word_feed({.depth = 1});
    word_batch first = feed.next_blocking();
    const word_batch second = feed.next_blocking();
    asio::io_context io;
    asio::cancellation_signal signal;
    bool cancelled = false;
    feed.next(asio::bind_cancellation_slot(
        signal.slot(), asio::bind_executor(io, [&](const std::exception_ptr& failure, word_batch) {
            try {
                std::rethrow_exception(failure);
            } catch (const boost::system::system_error& error) {
                cancelled = error.code() == asio::error::operation_aborted;
            }
        })));
    io.poll();
    CHECK_FALSE(cancelled);
    CHECK(error_of([&] { feed.next_blocking(); }).code() == stoker::errc::busy);
    CHECK(error_of([&] { feed.restart(); }).code() == stoker::errc::busy);
    signal.emit(asio::cancellation_type::total);
    io.run();
    CHECK(cancelled);
    first = {};
    CHECK(feed.next_blocking().number() == second.number() + 1);
}

TEST_CASE("feeds survive an io_context that dies with operations pending") {
    simulated_platform platform(quick());
    word_feed feed = make_word_feed({.depth = 1});
    consumer eyes(platform, {});
    word_batch first = feed.next_blocking();
    const word_batch second = feed.next_blocking();
    std::atomic<bool> open{false};
    platform.enqueue(eyes.stream(), [&] {
        while (!open.load())
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
    {
        asio::io_context io;
        feed.next(asio::bind_executor(io, [](std::exception_ptr, word_batch) { FAIL(); }));
        feed.completed(eyes.stream(), asio::bind_executor(io, [](std::exception_ptr) { FAIL(); }));
        io.poll();
    }
    open = true;
    first = {};
    CHECK(feed.next_blocking());
}

TEST_CASE("a device that fails is told with call and batch, and for good") {
    simulated_platform platform(quick());
    word_feed feed = make_word_feed();
    platform.fail("cudaMemcpyAsync", cuda_code::illegal_address, 3);
    for (int i = 0; i < 3; ++i)
        CHECK(feed.next_blocking());
    const stoker::error failed = error_of([&] { feed.next_blocking(); });
    CHECK(failed.code() == stoker::errc::device_failed);
    CHECK(contains(failed.text(), "cudaMemcpyAsync failed on simulated device 0 for batch 3 of "));
    CHECK(error_of([&] { feed.next_blocking(); }).text() == failed.text());
    asio::io_context io;
    std::exception_ptr later;
    feed.next(asio::bind_executor(io, [&](std::exception_ptr failure, word_batch batch) {
        CHECK_FALSE(batch);
        later = std::move(failure);
    }));
    io.run();
    REQUIRE(later);
    CHECK(error_of([&] { std::rethrow_exception(later); }).text() == failed.text());
}

TEST_CASE("what the feed's thread hears of a failure the next call throws") {
    simulated_platform platform(quick());
    word_feed feed = make_word_feed();
    platform.fail("cudaEventSynchronize", cuda_code::illegal_address, 2, 1, true);
    stoker::error failed(stoker::errc::busy, "");
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (failed.code() == stoker::errc::busy && std::chrono::steady_clock::now() < end) {
        try {
            feed.next_blocking();
        } catch (const stoker::error& failure) {
            failed = failure;
        }
    }
    CHECK(failed.code() == stoker::errc::device_failed);
    CHECK(contains(failed.text(), "for batch "));
}

TEST_CASE("a feed that is destroyed fails its pending next()") {
    simulated_platform platform(quick());
    asio::io_context io;
    bool aborted = false;
    {
        word_feed feed = make_word_feed({.depth = 1});
        const word_batch first = feed.next_blocking();
        const word_batch second = feed.next_blocking();
        feed.next(asio::bind_executor(io, [&](const std::exception_ptr& failure, word_batch) {
            aborted = static_cast<bool>(failure);
        }));
        io.poll();
        CHECK_FALSE(aborted);
    }
    io.run();
    CHECK(aborted);
}

TEST_CASE("feeds move") {
    simulated_platform platform(quick());
    word_feed feed = make_word_feed();
    CHECK(feed.next_blocking());
    word_feed moved = std::move(feed);
    CHECK(moved.next_blocking().number() == 1);
    moved = make_word_feed();
    CHECK(moved.next_blocking().number() == 0);
}
