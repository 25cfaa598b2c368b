// All samples of a batch are children of one scope, each waiting for its place among those that the
// worker may have under way. Places are given in order of asking, so the oldest batch, which is the
// one that main needs first, is never held up by a later one.

#include <stoker/collate/sample_maker.hpp>

#include <algorithm>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <stoker/core/error.hpp>
#include <stoker/runtime/permit.hpp>
#include <stoker/runtime/scope.hpp>
#include "collate/fetch_limits.hpp"
#include "collate/samples_failed.hpp"

namespace asio = boost::asio;

namespace stoker::detail {
namespace {

/// One batch under way.
struct fetching {
    const fetch_task& task;
    sample_maker& maker;
    fetch_monitor& monitor;
    const fetch_limits& limits;
    std::vector<failed_sample> failed{};
};

bool is_cancellation(const std::exception_ptr& failure) {
    try {
        std::rethrow_exception(failure);
    } catch (const boost::system::system_error& known) {
        return known.code() == asio::error::operation_aborted;
    } catch (...) {
        return false;
    }
}

class end_of_sample {
  public:
    end_of_sample(fetch_monitor& monitor, index sample) : monitor_(monitor), sample_(sample) {
        monitor_.begin_sample(sample_);
    }
    end_of_sample(const end_of_sample&) = delete;
    end_of_sample& operator=(const end_of_sample&) = delete;
    ~end_of_sample() { monitor_.end_sample(sample_); }

  private:
    fetch_monitor& monitor_;
    index sample_;
};

/// Lives in the coroutine around both of its users: the sample's and the clock's.
struct race {
    scope* both = nullptr;
    bool late = false;
    bool made = false;
    std::exception_ptr failure{};
};

asio::awaitable<void> watch_clock(race& with_sample, std::chrono::milliseconds span) {
    asio::steady_timer timer(co_await asio::this_coro::executor, span);
    co_await timer.async_wait(asio::use_awaitable);
    with_sample.late = !with_sample.made;
    with_sample.both->cancel();
}

asio::awaitable<void> run_sample(race& with_clock, sample_maker& maker, std::size_t number) {
    try {
        co_await maker.make(number);
        with_clock.made = true;
    } catch (...) {
        with_clock.failure = std::current_exception();
    }
    with_clock.both->cancel();
}

[[noreturn]] void throw_late(const race& lost, std::chrono::milliseconds span) {
    error_details details{};
    details.code = errc::timed_out;
    details.text = "the sample was not made within sample_timeout, " +
                   std::to_string(span.count()) + " ms, and was cancelled";
    if (lost.failure && !is_cancellation(lost.failure))
        details.text += "; it ended with: " + describe(lost.failure, errc::sample_failed).text;
    details.remedy = "look why that sample takes so long, or allow more";
    throw error(std::move(details));
}

asio::awaitable<void> make_in_time(fetching& batch, std::size_t number) {
    const std::chrono::milliseconds span = batch.limits.sample_timeout;
    race between{};
    auto body = [&](scope& both) -> asio::awaitable<void> {
        between.both = &both;
        both.spawn(watch_clock(between, span));
        co_await run_sample(between, batch.maker, number);
    };
    co_await scoped(body);
    if (between.late)
        throw_late(between, span);
    if (between.failure)
        std::rethrow_exception(between.failure);
}

asio::awaitable<void> make_one(fetching& batch, std::size_t number) {
    const auto cancellation = co_await asio::this_coro::cancellation_state;
    const permit<fetch_limits::place> place =
        co_await batch.limits.places.tx.reserve(asio::use_awaitable);
    if (batch.monitor.abandoned())
        throw boost::system::system_error(asio::error::operation_aborted);
    const index sample = batch.task.indices[number];
    const end_of_sample under_way(batch.monitor, sample);
    try {
        if (batch.limits.sample_timeout.count() > 0) {
            co_await make_in_time(batch, number);
        } else {
            co_await batch.maker.make(number);
        }
    } catch (...) {
        if (cancellation.cancelled() != asio::cancellation_type::none)
            throw;  // not the sample's fault
        error_details details = describe(std::current_exception(), errc::sample_failed);
        if (!details.sample && !batch.maker.makes_all())
            details.sample = sample;
        if (!batch.limits.go_on || batch.maker.makes_all())
            throw error(std::move(details));
        batch.failed.push_back({number, std::make_exception_ptr(error(std::move(details)))});
    }
}

}  // namespace

asio::awaitable<void> make_samples(const fetch_task& task, std::size_t count, sample_maker& maker,
                                   fetch_monitor& monitor, const fetch_limits& limits) {
    fetching batch{task, maker, monitor, limits};
    auto body = [&](scope& children) -> asio::awaitable<void> {
        for (std::size_t number = 0; number < count; ++number)
            children.spawn(make_one(batch, number));
        co_return;
    };
    co_await scoped(body);
    if (batch.failed.empty())
        co_return;
    std::sort(batch.failed.begin(), batch.failed.end(),
              [](const failed_sample& a, const failed_sample& b) { return a.number < b.number; });
    throw samples_failed(std::move(batch.failed));
}

}  // namespace stoker::detail
