#pragma once

#include <concepts>
#include <memory>
#include <type_traits>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

namespace stoker {

class scope;

namespace detail {

class scope_state;

/// A body that somebody else keeps alive, without its type.
class body_reference {
  public:
    template <typename Body>
    explicit body_reference(Body& body) noexcept
        : object_(reinterpret_cast<const volatile void*>(&body)),
          call_([](const volatile void* object, scope& children) {
              return (*reinterpret_cast<Body*>(const_cast<void*>(object)))(children);
          }) {}

    boost::asio::awaitable<void> operator()(scope& children) const {
        return call_(object_, children);
    }

  private:
    const volatile void* object_;
    boost::asio::awaitable<void> (*call_)(const volatile void*, scope&);
};

boost::asio::awaitable<void> run_scope(body_reference body);

}  // namespace detail

/// What `scoped` gives to its body: the place where children are spawned.
///
/// Lifetime: lives until `scoped` completes, so bodies and children may keep references to it.
///
/// Thread safety: all functions may be called from any thread. Children on one serial executor (an
/// io_context run by one thread, a strand) never run at the same time.
class scope {
  public:
    using executor_type = boost::asio::any_io_executor;

    scope(const scope&) = delete;
    scope& operator=(const scope&) = delete;

    /// Starts a child on the scope's executor, which is that of the coroutine that awaits `scoped`.
    /// The child may begin inside this call. In a scope that is ending it is cancelled at once.
    void spawn(boost::asio::awaitable<void> child);

    /// Starts a child on an executor of its own, which must be serial, for it is cancelled there:
    /// `children.spawn(asio::make_strand(pool), work())`. Its context must end before the scope's.
    void spawn(const executor_type& executor, boost::asio::awaitable<void> child);

    /// Asks all children, body included, to end, in reverse order of their start. What ends by
    /// `operation_aborted` afterwards has ended well: `scoped` returns instead of throwing it.
    void cancel();

    executor_type get_executor() const noexcept;

  private:
    friend boost::asio::awaitable<void> detail::run_scope(detail::body_reference body);
    explicit scope(std::shared_ptr<detail::scope_state> state) noexcept;

    std::shared_ptr<detail::scope_state> state_;
};

/// Something that `scoped` can run: `body(scope&)` gives `awaitable<void>`.
template <typename Body>
concept scope_body = std::invocable<Body&, scope&> &&
    std::same_as<std::invoke_result_t<Body&, scope&>, boost::asio::awaitable<void>>;

/// Runs `body`, and every child that it or another child spawns, and completes when all of them
/// have ended: no child outlives `co_await stoker::scoped(body)`.
///
/// The first exception that ends the body or a child cancels the rest, in reverse order of their
/// start, and is thrown here once all have ended. Cancellation of the awaiting coroutine cancels
/// all of them and arrives here as their `operation_aborted`. Children are asked with every type
/// of cancellation, and can refuse only by disabling it.
///
///     auto body = [&](stoker::scope& children) -> asio::awaitable<void> {
///         children.spawn(produce(std::move(tx)));
///         co_await consume(rx);
///     };
///     co_await stoker::scoped(body);
///
/// Children are cancelled on their executors, so these must be serial: an io_context run by one
/// thread, or a strand. In a pool of threads, spawn the coroutine that awaits `scoped` on
/// `asio::make_strand(pool)`, and children that shall run beside it on strands of their own.
///
/// `body` is kept by reference and must be a named object: g++ 12 destroys twice what a temporary
/// lambda owns when it stands beside a co_await.
template <scope_body Body>
boost::asio::awaitable<void> scoped(Body& body) {
    return detail::run_scope(detail::body_reference(body));
}

/// A temporary body does not compile: give it a name first.
template <scope_body Body>
    requires(!std::is_lvalue_reference_v<Body>)
boost::asio::awaitable<void> scoped(Body&& body)
= delete;

}  // namespace stoker
