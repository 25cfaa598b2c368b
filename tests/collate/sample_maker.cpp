#include <stoker/collate/sample_maker.hpp>

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <stoker/core/error.hpp>
#include "collate/fetch_limits.hpp"
#include "collate/samples_failed.hpp"
#include "support/catch.hpp"

using namespace stoker;
using namespace stoker::detail;
using namespace std::chrono_literals;
namespace asio = boost::asio;

namespace {

asio::awaitable<void> pause(std::chrono::milliseconds span) {
    asio::steady_timer timer(co_await asio::this_coro::executor, span);
    co_await timer.async_wait(asio::use_awaitable);
}

class recording_monitor final : public fetch_monitor {
  public:
    void begin_sample(stoker::index sample) noexcept override { begun.push_back(sample); }
    void end_sample(stoker::index sample) noexcept override { ended.push_back(sample); }
    bool abandoned() const noexcept override { return gone; }
    std::vector<stoker::index> begun;
    std::vector<stoker::index> ended;
    bool gone = false;
};

class scripted_maker final : public sample_maker {
  public:
    using script = std::function<asio::awaitable<void>(std::size_t)>;
    explicit scripted_maker(script one) : one_(std::move(one)) {}
    asio::awaitable<void> make(std::size_t number) override {
        ++now;
        most = std::max(most, now);
        struct leave {
            int& count;
            ~leave() { --count; }
        } leaving{now};
        co_await one_(number);
        made.push_back(number);
    }
    int now = 0;
    int most = 0;
    std::vector<std::size_t> made;

  private:
    script one_;
};

/// Runs one batch of `count` samples, numbered from 100.
struct run_of {
    explicit run_of(std::size_t count, scripted_maker::script one, int in_flight = 8,
                    std::chrono::milliseconds timeout = 0ms)
        : maker(std::move(one)), limits(io.get_executor(), in_flight, timeout) {
        for (std::size_t i = 0; i < count; ++i)
            indices.push_back(100 + i);
        task.indices = indices;
    }
    void start() {
        asio::co_spawn(io, make_samples(task, indices.size(), maker, monitor, limits),
                       asio::bind_cancellation_slot(cancellation.slot(),
                                                    [this](const std::exception_ptr& thrown) {
                                                        failure = thrown;
                                                        ended = true;
                                                    }));
    }
    void run() {
        start();
        io.run();
        REQUIRE(ended);
    }
    error_details details() const { return describe(failure, errc::resource); }

    asio::io_context io;
    std::vector<stoker::index> indices;
    fetch_task task{};
    recording_monitor monitor;
    scripted_maker maker;
    fetch_limits limits;
    asio::cancellation_signal cancellation;
    std::exception_ptr failure;
    bool ended = false;
};

}  // namespace

TEST_CASE("all samples are made, no more at once than the limit", "[collate]") {
    run_of batch(
        20, [](std::size_t) { return pause(1ms); }, 3);
    batch.run();
    CHECK_FALSE(batch.failure);
    CHECK(batch.maker.made.size() == 20);
    CHECK(batch.maker.most == 3);
    CHECK(batch.monitor.begun == batch.indices);
    CHECK(batch.monitor.ended.size() == 20);
}

TEST_CASE("a batch without samples ends", "[collate]") {
    run_of batch(0, [](std::size_t) { return pause(1ms); });
    batch.run();
    CHECK_FALSE(batch.failure);
}

TEST_CASE("the first failure cancels the rest and names its sample", "[collate]") {
    run_of batch(6, [](std::size_t number) -> asio::awaitable<void> {
        co_await pause(number == 4 ? 1ms : 1h);
        throw std::out_of_range("hole");
    });
    batch.run();
    const error_details details = batch.details();
    CHECK(details.code == errc::sample_failed);
    CHECK(details.sample == std::optional<stoker::index>(104));
    CHECK(details.type == "std::out_of_range");
    CHECK(details.text == "hole");
    CHECK(batch.maker.now == 0);
    CHECK(batch.monitor.ended.size() == 6);
}

TEST_CASE("told to go on, all others are made and all failures are told, by number", "[collate]") {
    run_of batch(6, [](std::size_t number) -> asio::awaitable<void> {
        co_await pause(1ms);
        if (number == 1 || number == 4)
            throw std::out_of_range("hole");
    });
    batch.limits.go_on = true;
    batch.run();
    CHECK(batch.maker.made.size() == 4);
    REQUIRE(batch.failure);
    try {
        std::rethrow_exception(batch.failure);
    } catch (const samples_failed& several) {
        REQUIRE(several.all().size() == 2);
        CHECK(several.all()[0].number == 1);
        CHECK(several.all()[1].number == 4);
        const error_details details = describe(several.all()[1].failure, errc::resource);
        CHECK(details.sample == std::optional<stoker::index>(104));
        CHECK(details.text == "hole");
    }
}

TEST_CASE("an abandoned batch begins no further sample", "[collate]") {
    run_of batch(
        6, [](std::size_t) { return pause(1ms); }, 2);
    batch.monitor.gone = true;
    batch.run();
    CHECK(batch.failure);
    CHECK(batch.monitor.begun.empty());
}

TEST_CASE("cancelled, it ends with operation_aborted when all samples have ended", "[collate]") {
    run_of batch(
        6, [](std::size_t) { return pause(1h); }, 4, 500h);
    batch.start();
    batch.io.run_for(10ms);
    REQUIRE_FALSE(batch.ended);
    batch.cancellation.emit(asio::cancellation_type::all);
    batch.io.run();
    REQUIRE(batch.ended);
    try {
        std::rethrow_exception(batch.failure);
    } catch (const boost::system::system_error& failure) {
        CHECK(failure.code() == asio::error::operation_aborted);
    }
    CHECK(batch.maker.now == 0);
}

TEST_CASE("a late sample is cancelled and named, with what it said", "[collate]") {
    run_of quiet(
        3, [](std::size_t number) { return pause(number == 1 ? 1h : 1ms); }, 8, 50ms);
    quiet.run();
    CHECK(quiet.details().code == errc::timed_out);
    CHECK(quiet.details().sample == std::optional<stoker::index>(101));
    CHECK(quiet.details().text.find("ended with") == std::string::npos);

    run_of loud(
        1,
        [](std::size_t) -> asio::awaitable<void> {
            bool cancelled = false;
            try {
                co_await pause(1h);
            } catch (const boost::system::system_error&) {
                cancelled = true;
            }
            if (cancelled)
                throw std::runtime_error("connection lost");
        },
        8, 50ms);
    loud.run();
    CHECK(loud.details().code == errc::timed_out);
    CHECK(loud.details().text.find("it ended with: connection lost") != std::string::npos);
}

TEST_CASE("a sample in time, or that fails in time, is as if there were no clock", "[collate]") {
    run_of good(
        5, [](std::size_t) { return pause(1ms); }, 8, 1h);
    good.run();
    CHECK_FALSE(good.failure);
    CHECK(good.maker.made.size() == 5);
    run_of bad(
        1,
        [](std::size_t) -> asio::awaitable<void> {
            throw std::runtime_error("no");
            co_return;
        },
        8, 1h);
    bad.run();
    CHECK(bad.details().code == errc::sample_failed);
    CHECK(bad.details().text == "no");
}

TEST_CASE("places go to the batch that asked first", "[collate]") {
    asio::io_context io;
    const fetch_limits limits(io.get_executor(), 2, 0ms);
    std::vector<std::size_t> order;
    const std::vector<stoker::index> indices{0, 1, 2, 3};
    const fetch_task task{indices};
    recording_monitor monitor;
    scripted_maker first([&](std::size_t number) {
        order.push_back(number);
        return pause(1ms);
    });
    scripted_maker second([&](std::size_t number) {
        order.push_back(10 + number);
        return pause(1ms);
    });
    const auto ignore = [](const std::exception_ptr&) {};
    asio::co_spawn(io, make_samples(task, 4, first, monitor, limits), ignore);
    asio::co_spawn(io, make_samples(task, 4, second, monitor, limits), ignore);
    io.run();
    CHECK(order == std::vector<std::size_t>{0, 1, 2, 3, 10, 11, 12, 13});
}
