// Cancellation that comes at any instant, on one thread and on many: every operation ends, once,
// and no batch is lost to one that was cancelled.

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <random>
#include <tuple>
#include <variant>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include "loader/loader_datasets.hpp"
#include "support/catch.hpp"
#include "support/instrumented.hpp"
#include "support/leaks.hpp"

using namespace stoker;
using namespace stoker::test_loader;
using namespace std::chrono_literals;
namespace asio = boost::asio;

namespace {

using number_loader = loader<numbers>;
using microseconds = std::chrono::microseconds;

constexpr bool instrumented = test_support::instrumented;

/// Numbers of the same sequence on every run.
class instants {
  public:
    explicit instants(int most) : spread_(0, most) {}
    microseconds next() { return microseconds(spread_(engine_)); }

  private:
    std::mt19937 engine_{7};
    std::uniform_int_distribution<int> spread_;
};

/// What became of the operations of one loader.
struct tally {
    std::uint64_t batches = 0;
    std::uint64_t aborted = 0;
    std::uint64_t others = 0;
    bool in_sequence = true;

    void take(const batch<number>& got) {
        const auto expected = static_cast<std::int64_t>(batches++);
        in_sequence = in_sequence && got.number() == static_cast<std::uint64_t>(expected) &&
                      got.size() == 1 && got[&number::value](0) == expected;
    }
    void take(const std::exception_ptr& failure) {
        try {
            std::rethrow_exception(failure);
        } catch (const boost::system::system_error& e) {
            ++(e.code() == asio::error::operation_aborted ? aborted : others);
        } catch (...) {
            ++others;
        }
    }
    std::uint64_t total() const { return batches + aborted + others; }
};

asio::awaitable<void> race_timer(number_loader& source, int races, tally& seen) {
    using namespace asio::experimental::awaitable_operators;
    asio::steady_timer timer(co_await asio::this_coro::executor);
    instants random(200);
    for (int race = 0; race < races; ++race) {
        timer.expires_after(random.next());
        auto result = co_await (source.next() || timer.async_wait(asio::use_awaitable));
        if (result.index() == 0)
            seen.take(std::get<0>(result));
        else
            ++seen.aborted;
    }
}

}  // namespace

TEST_CASE("5,000 races against a timer lose no batch", "[loader]") {
    constexpr int races = 5'000;
    number_loader source{numbers{1U << 14},
                         {.batch_size = 1, .num_workers = 2, .prefetch_factor = 4}};
    asio::io_context io;
    tally seen;
    asio::co_spawn(io, race_timer(source, races, seen), rethrow);
    io.run_for(60s);
    REQUIRE(io.stopped());
    CHECK(seen.total() == races);
    CHECK(seen.in_sequence);
    CHECK(source.next_blocking().number() == seen.batches);
}

TEST_CASE("a cancellation ends its operation at whatever instant it comes", "[loader][B154]") {
    constexpr int rounds = instrumented ? 1'000 : 10'000;
    loader source{slow_numbers{1U << 20, [](stoker::index i) { return i % 8 == 0 ? 1 : 0; }},
                  {.batch_size = 1, .num_workers = 2}};
    instants random(400);
    tally seen;
    for (int round = 0; round < rounds; ++round) {
        asio::io_context io;
        asio::cancellation_signal signal;
        asio::steady_timer timer(io);
        source.next(asio::bind_cancellation_slot(
            signal.slot(), asio::bind_executor(io.get_executor(),
                                               [&](std::exception_ptr failure, batch<number> got) {
                                                   timer.cancel();
                                                   if (failure)
                                                       seen.take(failure);
                                                   else
                                                       seen.take(got);
                                               })));
        if (round % 4 == 0) {
            signal.emit(asio::cancellation_type::all);  // before it has begun
        } else {
            timer.expires_after(random.next());
            timer.async_wait([&](const boost::system::error_code& stopped) {
                if (!stopped)
                    signal.emit(asio::cancellation_type::all);
            });
        }
        io.run_for(20s);
        REQUIRE(io.stopped());
    }
    CHECK(seen.total() == rounds);
    CHECK(seen.others == 0);
    CHECK(seen.aborted >= rounds / 4);
    CHECK(seen.in_sequence);
    CHECK(source.next_blocking().number() == seen.batches);
}

TEST_CASE("a cancellation ends a wait that nothing else would end", "[loader][B154]") {
    struct endless_numbers {
        std::size_t size() const { return 8; }
        number get(stoker::index) const {
            for (;;)
                ::pause();
        }
    };
    constexpr int rounds = instrumented ? 500 : 5'000;
    loader source{endless_numbers{}, {.batch_size = 1, .num_workers = 1}};
    instants around_the_start(30);
    instants later(1'000);
    tally seen;
    for (int round = 0; round < rounds; ++round) {
        asio::io_context io;
        asio::cancellation_signal signal;
        source.next(asio::bind_cancellation_slot(
            signal.slot(), asio::bind_executor(io.get_executor(),
                                               [&](const std::exception_ptr& failure,
                                                   const batch<number>&) { seen.take(failure); })));
        asio::steady_timer timer(io, round % 2 == 0 ? around_the_start.next() : later.next());
        timer.async_wait(
            [&](const boost::system::error_code&) { signal.emit(asio::cancellation_type::all); });
        io.run_for(20s);
        REQUIRE(io.stopped());
        REQUIRE(seen.aborted == static_cast<std::uint64_t>(round) + 1);
    }
}

TEST_CASE("a coroutine that is cancelled before it first runs takes no batch", "[loader][B154]") {
    number_loader source{numbers{1'000}, {.num_workers = 1}};
    for (int round = 0; round < 100; ++round) {
        asio::io_context io;
        asio::cancellation_signal signal;
        bool aborted = false;
        const auto body = [&]() -> asio::awaitable<void> { auto batch = co_await source.next(); };
        asio::co_spawn(
            io, body,
            asio::bind_cancellation_slot(signal.slot(), [&](const std::exception_ptr& failure) {
                tally seen;
                if (failure)
                    seen.take(failure);
                aborted = seen.aborted == 1;
            }));
        signal.emit(asio::cancellation_type::terminal);
        io.run_for(20s);
        REQUIRE(io.stopped());
        CHECK(aborted);
    }
    CHECK(source.next_blocking().number() == 0);
}

namespace {

/// One loader on a strand of its own: reading races a time-out and a cancellation of the user's,
/// which comes from another thread.
class contender {
  public:
    contender(number_loader made, asio::thread_pool& pool, int rounds)
        : source(std::move(made)),
          pool_(pool),
          strand_(asio::make_strand(pool)),
          timer_(strand_),
          rounds_left_(rounds) {}

    void begin() {
        asio::post(strand_, [this] { start_round(); });
    }
    tally seen{};
    int twice = 0;  ///< operations that completed more than once
    number_loader source;

  private:
    void start_round() {
        if (rounds_left_-- == 0)
            return;
        pending_ = true;
        signal_ = std::make_unique<asio::cancellation_signal>();
        source.next(asio::bind_cancellation_slot(
            signal_->slot(),
            asio::bind_executor(strand_, [this](std::exception_ptr failure, batch<number> got) {
                twice += pending_ ? 0 : 1;
                pending_ = false;
                if (failure)
                    seen.take(failure);
                else
                    seen.take(got);
                timer_.cancel();
                asio::post(strand_, [this] { start_round(); });
            })));
        timer_.expires_after(random_.next());
        timer_.async_wait([this](const boost::system::error_code& stopped) {
            if (!stopped && pending_)
                signal_->emit(asio::cancellation_type::terminal);
        });
        asio::post(pool_, [this, round = rounds_left_] {
            asio::post(strand_, [this, round] {
                if (round == rounds_left_ && pending_ && round % 3 == 0)
                    signal_->emit(asio::cancellation_type::total);
            });
        });
    }

    asio::thread_pool& pool_;
    asio::strand<asio::thread_pool::executor_type> strand_;
    asio::steady_timer timer_;
    std::unique_ptr<asio::cancellation_signal> signal_{};
    instants random_{60};
    int rounds_left_;
    bool pending_ = false;
};

}  // namespace

TEST_CASE("reading, a time-out and a cancellation race on eight threads, and each ends once",
          "[loader][B155]") {
    constexpr int rounds = instrumented ? 1'000 : 25'000;
    constexpr std::size_t loaders = 4;
    std::vector<number_loader> sources;  // made before there are threads
    for (std::size_t i = 0; i < loaders; ++i)
        sources.emplace_back(numbers{1U << 20}, loader_options{.num_workers = 1});
    asio::thread_pool pool(8);
    std::vector<std::unique_ptr<contender>> all;
    for (auto& source : sources)
        all.push_back(std::make_unique<contender>(std::move(source), pool, rounds));
    for (auto& each : all)
        each->begin();
    pool.join();
    for (auto& each : all) {
        CHECK(each->seen.total() == rounds);
        CHECK(each->seen.others == 0);
        CHECK(each->twice == 0);
        CHECK(each->seen.in_sequence);
        CHECK(each->source.next_blocking().number() == each->seen.batches);
    }
}

TEST_CASE("a loader closes in time though a worker is stubborn and a next() is pending",
          "[loader][B156]") {
    struct stubborn_numbers {
        std::size_t size() const { return 8; }
        number get(stoker::index i) const {
            if (i == 0) {
                sigset_t all;
                ::sigfillset(&all);
                ::sigprocmask(SIG_BLOCK, &all, nullptr);
                for (;;)
                    ::pause();
            }
            return {static_cast<std::int64_t>(i), 0};
        }
    };
    asio::io_context io;
    tally seen;
    auto source = std::make_unique<loader<stubborn_numbers>>(stubborn_numbers{},
                                                             loader_options{.num_workers = 2});
    using namespace asio::experimental::awaitable_operators;
    asio::steady_timer stubborn(io, 200ms);
    const auto body = [&]() -> asio::awaitable<void> {
        // The group ends with its last member: the timer does not listen to cancellation.
        const auto deaf = [&]() -> asio::awaitable<int> {
            co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
            co_await stubborn.async_wait(asio::use_awaitable);
            co_return 0;
        };
        auto both = co_await (source->next(asio::as_tuple(asio::use_awaitable)) && deaf());
        seen.take(std::get<0>(both));
    };
    asio::co_spawn(io, body, rethrow);
    io.run_for(20ms);
    const auto start = std::chrono::steady_clock::now();
    source.reset();
    CHECK(std::chrono::steady_clock::now() - start < 5s);
    CHECK(test_support::holds_within(10s, [] { return test_support::descendants().empty(); }));
    io.run_for(20s);
    CHECK(io.stopped());
    CHECK(seen.others == 1);
}

TEST_CASE("a loader closes in time though a worker's coroutine hears no cancellation",
          "[loader][B156]") {
    struct deaf_numbers {
        std::size_t size() const { return 8; }
        asio::awaitable<number> get(stoker::index i) const {
            co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
            asio::steady_timer never(co_await asio::this_coro::executor, 1h);
            co_await never.async_wait(asio::use_awaitable);
            co_return number{static_cast<std::int64_t>(i), 0};
        }
    };
    auto source =
        std::make_unique<loader<deaf_numbers>>(deaf_numbers{}, loader_options{.num_workers = 2});
    CHECK_FALSE(source->try_next());
    const auto start = std::chrono::steady_clock::now();
    source.reset();
    CHECK(std::chrono::steady_clock::now() - start < 5s);
    CHECK(test_support::holds_within(10s, [] { return test_support::descendants().empty(); }));
}
