#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/recycling_allocator.hpp>

#include <stoker/runtime/detail/channel_core.hpp>

namespace stoker::detail {

// An operation has two lives. While it waits it is a `waiting_operation` in its channel, which
// holds the handler and work on its executor. Its last step is a `final_step`, posted to that
// executor: only there is a message taken. Handlers never run inside an initiating function.

/// The posted half: `Action` makes the handler's arguments and calls it.
template <typename Action, typename Handler>
class final_step {
  public:
    using allocator_type =
        boost::asio::associated_allocator_t<Handler, boost::asio::recycling_allocator<void>>;

    final_step(Action action, Handler handler)
        : action_(std::move(action)), handler_(std::move(handler)) {}

    allocator_type get_allocator() const noexcept {
        return boost::asio::get_associated_allocator(handler_,
                                                     boost::asio::recycling_allocator<void>());
    }

    void operator()() {
        auto slot = boost::asio::get_associated_cancellation_slot(handler_);
        if (slot.is_connected())
            slot.clear();
        std::move(action_)(std::move(handler_));
    }

  private:
    Action action_;
    Handler handler_;
};

template <typename Handler>
auto working_executor(const Handler& handler, const boost::asio::any_io_executor& fallback) {
    return boost::asio::prefer(boost::asio::get_associated_executor(handler, fallback),
                               boost::asio::execution::outstanding_work.tracked);
}

/// The context with which a waiting operation lives and dies.
template <typename Executor>
boost::asio::execution_context& context_of(const Executor& executor,
                                           const boost::asio::any_io_executor& fallback) {
    if constexpr (boost::asio::can_query_v<Executor, boost::asio::execution::context_t>) {
        return boost::asio::query(executor, boost::asio::execution::context);
    } else {
        return boost::asio::query(fallback, boost::asio::execution::context);
    }
}

template <typename T, typename Handler>
auto allocator_for(const Handler& handler) {
    using fallback = boost::asio::recycling_allocator<void>;
    using allocator = boost::asio::associated_allocator_t<Handler, fallback>;
    return typename std::allocator_traits<allocator>::template rebind_alloc<T>(
        boost::asio::get_associated_allocator(handler, fallback()));
}

/// The waiting half. `Action` is told how the wait ended by `set_error(error)`.
template <typename Action, typename Handler, typename Executor>
class waiting_operation final : public channel_wait {
  public:
    waiting_operation(channel_core& core, std::uint64_t ticket, Action action, Handler handler,
                      Executor executor)
        : channel_wait(core, ticket),
          action_(std::move(action)),
          handler_(std::move(handler)),
          executor_(std::move(executor)) {}

    /// The object owns itself: complete() or abandon() ends it.
    static waiting_operation& create(channel_core& core, std::uint64_t ticket, Action action,
                                     Handler handler, Executor executor) {
        auto memory = allocator_for<waiting_operation>(handler);
        auto* place = std::allocator_traits<decltype(memory)>::allocate(memory, 1);
        return *::new (static_cast<void*>(place)) waiting_operation(
            core, ticket, std::move(action), std::move(handler), std::move(executor));
    }

    void complete(boost::system::error_code error) noexcept override {
        action_.set_error(error);
        Executor executor = std::move(executor_);
        boost::asio::post(executor, release());
    }

    void abandon() noexcept override { release(); }

  private:
    final_step<Action, Handler> release() noexcept {
        auto memory = allocator_for<waiting_operation>(handler_);
        final_step<Action, Handler> step(std::move(action_), std::move(handler_));
        this->~waiting_operation();
        std::allocator_traits<decltype(memory)>::deallocate(memory, this, 1);
        return step;
    }

    Action action_;
    Handler handler_;
    Executor executor_;
};

template <typename Action, typename Handler>
void post_final_step(const boost::asio::any_io_executor& fallback, Action action, Handler handler) {
    const auto executor = boost::asio::get_associated_executor(handler, fallback);
    boost::asio::post(executor, final_step<Action, Handler>(std::move(action), std::move(handler)));
}

}  // namespace stoker::detail
