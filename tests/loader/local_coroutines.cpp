// Datasets of coroutines where something goes wrong around them: what they refer to lives as long
// as they do, and who can never go on is told of.

#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <utility>

#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "loader/loader_datasets.hpp"
#include "support/catch.hpp"

using namespace stoker;
using namespace stoker::test_loader;
using namespace std::chrono_literals;
namespace asio = boost::asio;

namespace {

/// Sample 0 has a handler beside it that throws out of the loop.
struct disturbed_numbers {
    std::size_t size() const { return 6; }
    asio::awaitable<number> get(stoker::index i) const {
        const auto executor = co_await asio::this_coro::executor;
        if (i == 0)
            asio::post(executor,
                       [] { throw std::runtime_error("a handler of the dataset's own"); });
        asio::steady_timer timer(executor, i == 0 ? 100ms : 60ms);
        co_await timer.async_wait(asio::use_awaitable);
        co_return number{static_cast<std::int64_t>(i), 0};
    }
};

/// What it opens belongs to the loop on which it was opened.
struct connected_numbers {
    std::shared_ptr<asio::steady_timer> connection{};
    std::size_t size() const { return 8; }
    asio::awaitable<void> open() {
        connection = std::make_shared<asio::steady_timer>(co_await asio::this_coro::executor);
    }
    asio::awaitable<number> get(stoker::index i) const {
        connection->expires_after(1ms);
        co_await connection->async_wait(asio::use_awaitable);
        co_return number{static_cast<std::int64_t>(i), 0};
    }
};

struct never_opened_numbers {
    std::size_t size() const { return 2; }
    asio::awaitable<void> open() {
        co_await asio::async_initiate<const asio::use_awaitable_t<>, void()>(
            [](auto handler) { const auto dropped = std::move(handler); }, asio::use_awaitable);
    }
    asio::awaitable<number> get(stoker::index i) const {
        co_return number{static_cast<std::int64_t>(i), 0};
    }
};

template <class Loader>
std::size_t count_samples(Loader& source) {
    std::size_t count = 0;
    while (const auto batch = source.next_blocking())
        count += batch.size();
    return count;
}

}  // namespace

TEST_CASE("a batch that is held does not change after something was thrown out of the loop",
          "[loader]") {
    loader source{disturbed_numbers{}, {.batch_size = 1}};
    CHECK_THROWS_WITH(source.next_blocking(), "a handler of the dataset's own");
    const auto held = source.next_blocking();
    CHECK(held[&number::value](0) == 1);
    const auto other = source.next_blocking();
    CHECK(other[&number::value](0) == 2);
    CHECK(held[&number::value](0) == 1);
}

TEST_CASE("parts of a split share what was opened, though the part that opened it is gone",
          "[loader]") {
    auto [training, validation] = random_split(connected_numbers{}, {0.5, 0.5}, 1);
    const loader_options options{.batch_size = 1, .in_flight = 1};
    using part_loader = loader<decltype(training)>;
    auto train = std::make_unique<part_loader>(training, options);
    loader validate{validation, options};
    CHECK(count_samples(*train) == 4);
    CHECK(count_samples(validate) == 4);
    train.reset();
    CHECK(count_samples(validate) == 4);
}

TEST_CASE("a dataset that two loaders share may be opened by both", "[loader]") {
    const auto shared = std::make_shared<connected_numbers>();
    const loader_options options{.batch_size = 1, .in_flight = 1};
    loader one{shared, options};
    loader other{shared, options};
    CHECK(one.next_blocking().size() == 1);
    CHECK(count_samples(other) == 8);
    CHECK(count_samples(one) == 7);
}

TEST_CASE("an open() that can never go on is told of", "[loader]") {
    for (const int workers : {0, 1}) {
        loader source{never_opened_numbers{}, {.num_workers = workers}};
        try {
            (void)source.next_blocking();
            FAIL("it was opened");
        } catch (const error& failure) {
            CHECK(failure.code() == errc::worker_start_failed);
            CHECK(failure.text().find("dropped uncalled") != std::string::npos);
        }
    }
}
