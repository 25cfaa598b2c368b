#pragma once

#include <exception>

namespace stoker {

/// Type of `rethrow`.
class rethrow_t {
  public:
    void operator()(const std::exception_ptr& failure) const {
        if (failure)
            std::rethrow_exception(failure);
    }

    template <typename Result>
    void operator()(const std::exception_ptr& failure, Result&&) const {
        if (failure)
            std::rethrow_exception(failure);
    }
};

/// Completion token of `co_spawn` for coroutines whose failure must not pass unseen: an exception
/// that ends the coroutine leaves `io_context::run()` of the thread that ran it; a result is
/// dropped. With `asio::detached` that exception would be lost.
///
///     asio::co_spawn(io, serve(), stoker::rethrow);
///     io.run();                                      // throws what serve() threw
///
/// On a `thread_pool`, whose threads nobody can catch for, the program ends by std::terminate.
///
/// Thread safety: stateless.
inline constexpr rethrow_t rethrow{};

}  // namespace stoker
