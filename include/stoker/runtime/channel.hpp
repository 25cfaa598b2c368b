#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/execution_context.hpp>

#include <stoker/runtime/permit.hpp>
#include <stoker/runtime/receiver.hpp>
#include <stoker/runtime/sender.hpp>

namespace stoker {

/// The two ends of a new bounded channel for messages of type T, to be taken apart at once:
///
///     auto [tx, rx] = stoker::channel<int>(executor, 16);
///
/// T needs a move constructor that does not throw (and does not use the channel), no more.
/// `capacity` places, at least 1, are allocated here; in the steady state nothing is allocated.
/// `executor` serves operations whose completion handler has no executor of its own; its context
/// must outlive those. An operation that waits when its context is destroyed is destroyed with it.
///
/// Throws `stoker::error` (`errc::invalid_option`) for a capacity of 0.
///
/// Thread safety: the two ends may be used by different threads; see `sender` and `receiver`.
template <typename T>
class channel {
  public:
    channel(const boost::asio::any_io_executor& executor, std::size_t capacity)
        : channel(std::make_shared<detail::channel_state<T>>(executor, capacity)) {}

    template <typename Context>
        requires std::is_convertible_v<Context&, boost::asio::execution_context&> channel(
            Context& context, std::size_t capacity)
            : channel(boost::asio::any_io_executor(context.get_executor()), capacity) {}

        stoker::sender<T> tx;
        stoker::receiver<T> rx;

      private:
        explicit channel(std::shared_ptr<detail::channel_state<T>> state) : tx(state), rx(state) {}
};

}  // namespace stoker
