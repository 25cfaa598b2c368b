#pragma once

#include <concepts>
#include <functional>
#include <type_traits>
#include <utility>

#include <boost/asio/awaitable.hpp>

#include <stoker/runtime/restart_policy.hpp>
#include <stoker/runtime/restarts_exhausted.hpp>

namespace stoker {

namespace detail {

boost::asio::awaitable<void> run_supervised(restart_policy policy,
                                            std::function<boost::asio::awaitable<void>()> factory);

}  // namespace detail

/// Makes children: `factory()` gives `awaitable<void>`, each time with new state. Copyable; a
/// temporary may only capture references and plain values, since g++ 12 destroys twice what a
/// temporary lambda owns beside a co_await: give other factories a name first.
template <typename Factory>
concept child_factory = std::copy_constructible<std::remove_cvref_t<Factory>> &&
                        std::invocable < std::remove_cvref_t<Factory>
& > &&std::same_as<std::invoke_result_t<std::remove_cvref_t<Factory>&>,
                   boost::asio::awaitable<void>> &&
    (std::is_lvalue_reference_v<Factory> ||
     std::is_trivially_copyable_v<std::remove_cvref_t<Factory>>);

/// Runs the child that `factory` makes and, when it ends, a new one, as the policy says. The
/// factory is copied and lives as long as its children, which may be coroutine lambdas.
///
///     children.spawn(stoker::supervise({.max_restarts = 5}, make_reader));
///
/// Completes when the child returned (unless restart::always). Throws: the child's exception with
/// restart::never; `restarts_exhausted` when the budget is spent; what `factory` itself throws, as
/// opposed to its child, at once, for it would throw again; `operation_aborted` when cancelled,
/// which ends the child, or the pause between two, and is no failure. A cancelled child that
/// returns ends it too.
/// Throws `stoker::error` (`errc::invalid_option`) from the call when the policy cannot be.
template <child_factory Factory>
boost::asio::awaitable<void> supervise(restart_policy policy, Factory&& factory) {
    return detail::run_supervised(
        policy, std::function<boost::asio::awaitable<void>()>(std::forward<Factory>(factory)));
}

}  // namespace stoker
