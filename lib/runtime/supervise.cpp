// Supervision is a loop around one child at a time. The child runs as part of the supervising
// coroutine, not beside it, so whatever cancels the supervisor cancels the child, and an exception
// needs no way back.
//
// Every end is judged outside its catch block: nothing can be awaited inside one.
#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <stoker/core/error.hpp>
#include <stoker/runtime/supervise.hpp>

#include "runtime/restart_budget.hpp"

namespace stoker {

namespace asio = boost::asio;

namespace {

std::string text_of(const std::exception_ptr& failure) {
    if (!failure)
        return "returned";
    try {
        std::rethrow_exception(failure);
    } catch (const std::exception& exception) {
        return exception.what();
    } catch (...) {
        return "an exception that is no std::exception";
    }
}

std::string sentence(const std::vector<restarts_exhausted::end>& history, int max_restarts,
                     std::chrono::milliseconds window) {
    std::string text = "a supervised child ended " + std::to_string(history.size()) +
                       " times within " + std::to_string(window.count()) + " ms, and " +
                       std::to_string(max_restarts) + " restarts are allowed:";
    for (std::size_t number = 0; number < history.size(); ++number) {
        text +=
            (number == 0 ? " (" : "; (") + std::to_string(number + 1) + ") " + history[number].text;
    }
    return text;
}

void check(const restart_policy& policy) {
    const auto refuse = [](const std::string& text) {
        throw error(errc::invalid_option, "restart_policy: " + text);
    };
    if (policy.max_restarts < 0) {
        refuse("max_restarts must be at least 0, not " + std::to_string(policy.max_restarts));
    }
    if (policy.window.count() <= 0) {
        refuse("window must be longer than 0, not " + std::to_string(policy.window.count()) +
               " ms");
    }
    for (const auto pause : policy.back_off) {
        if (pause.count() < 0) {
            refuse("back_off must be at least 0, not " + std::to_string(pause.count()) + " ms");
        }
    }
}

}  // namespace

restarts_exhausted::restarts_exhausted(std::vector<end> history, int max_restarts,
                                       std::chrono::milliseconds window)
    : std::runtime_error(sentence(history, max_restarts, window)),
      history_(std::make_shared<const std::vector<end>>(std::move(history))) {}

namespace detail {

std::optional<std::chrono::milliseconds> restart_budget::spend(time_point now,
                                                               std::exception_ptr failure) {
    using std::chrono::milliseconds;
    std::erase_if(ends_, [&](const auto& end) {
        return std::chrono::duration_cast<milliseconds>(now - end.when) >= policy_.window;
    });
    const std::size_t restarts = ends_.size();
    std::string text = text_of(failure);
    ends_.push_back({now, std::move(failure), std::move(text)});
    if (restarts >= static_cast<std::size_t>(policy_.max_restarts))
        return std::nullopt;
    return policy_.back_off[std::min(restarts, policy_.back_off.size() - 1)];
}

static asio::awaitable<void> supervised(restart_policy policy,
                                        std::function<asio::awaitable<void>()> factory) {
    restart_budget budget(policy);
    asio::steady_timer pause(co_await asio::this_coro::executor);
    for (;;) {
        asio::awaitable<void> child = factory();
        std::exception_ptr failure;
        try {
            co_await std::move(child);
        } catch (...) {
            failure = std::current_exception();
        }
        const asio::cancellation_state cancellation = co_await asio::this_coro::cancellation_state;
        const bool cancelled = cancellation.cancelled() != asio::cancellation_type::none;
        const bool final = cancelled || policy.when == restart::never ||
                           (policy.when == restart::on_failure && !failure);
        if (final && failure)
            std::rethrow_exception(failure);
        if (final)
            co_return;
        const auto back_off = budget.spend(std::chrono::steady_clock::now(), std::move(failure));
        if (!back_off) {
            throw restarts_exhausted(budget.take_history(), policy.max_restarts, policy.window);
        }
        pause.expires_after(*back_off);
        co_await pause.async_wait(asio::use_awaitable);
    }
}

asio::awaitable<void> run_supervised(restart_policy policy,
                                     std::function<asio::awaitable<void>()> factory) {
    check(policy);
    return supervised(policy, std::move(factory));
}

}  // namespace detail

}  // namespace stoker
