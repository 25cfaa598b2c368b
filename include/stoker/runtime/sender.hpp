#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include <boost/asio/async_result.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <stoker/runtime/channel_errc.hpp>
#include <stoker/runtime/detail/channel_operation.hpp>
#include <stoker/runtime/permit.hpp>

namespace stoker {

template <typename T>
class channel;

/// The side of a channel that sends. Messages of one sender arrive in the order in which they
/// were sent.
///
/// Lifetime: copies share the channel, and the receiver sees its end when the last of them, and
/// the last permit, are gone. Only destruction and assignment are allowed on a moved-from sender.
///
/// Thread safety: distinct senders of one channel may be used at the same time, from any thread;
/// const functions of one sender too.
template <typename T>
class sender {
  public:
    sender(const sender& other) noexcept : state_(other.state_) {
        if (state_)
            state_->add_sender();
    }
    sender(sender&&) noexcept = default;
    sender& operator=(sender other) noexcept {
        state_.swap(other.state_);
        return *this;
    }
    ~sender() {
        if (state_)
            state_->remove_sender();
    }

    /// Waits for a place in the channel: `auto permit = co_await tx.reserve(); permit.send(x);`.
    /// Those who wait get their places in the order in which they began to.
    ///
    /// Completes with `void(error_code, permit<T>)` on the executor associated with the handler,
    /// otherwise the channel's; never inside this function. Errors: `channel_errc::closed` once the
    /// channel is closed or its receiver gone, also while waiting; `operation_aborted` on
    /// cancellation, of any type, after which no place is taken. A permit that was granted before
    /// the cancellation came is delivered.
    template <boost::asio::completion_token_for<void(boost::system::error_code, permit<T>)> Token =
                  boost::asio::use_awaitable_t<>>
    auto reserve(Token&& token = Token()) const {
        return boost::asio::async_initiate<Token, void(boost::system::error_code, permit<T>)>(
            initiate_reserve(state_), token);
    }

    /// A permit if there is a place now, otherwise one that is false.
    permit<T> try_reserve() const noexcept {
        const bool granted = state_->try_reserve() == detail::reserve_status::granted;
        return granted ? permit<T>(state_) : permit<T>();
    }

    /// Sends if there is a place now. Otherwise, or when the channel is closed, the message comes
    /// back: `if (auto unsent = tx.try_send(std::move(x))) keep(std::move(*unsent));`.
    [[nodiscard]] std::optional<T> try_send(T message) const noexcept {
        if (state_->try_reserve() != detail::reserve_status::granted) {
            return std::optional<T>(std::move(message));
        }
        state_->send(message);
        return std::nullopt;
    }

    /// Refuses new messages of all senders. Queued messages, and permits given out, stay good.
    void close() const noexcept { state_->close(); }
    /// Whether nothing more can be sent: closed by either side, or the receiver is gone.
    bool closed() const noexcept { return state_->closed(); }
    std::size_t capacity() const noexcept { return state_->capacity(); }

  private:
    friend class channel<T>;
    using state = detail::channel_state<T>;

    explicit sender(std::shared_ptr<state> shared) noexcept : state_(std::move(shared)) {
        state_->add_sender();
    }

    /// Last step of a reserve; the permit is one from the moment when the place was granted.
    class deliver_permit {
      public:
        explicit deliver_permit(std::shared_ptr<state> shared) noexcept
            : state_(std::move(shared)) {}

        void set_error(boost::system::error_code error) noexcept {
            error_ = error;
            if (!error_)
                permit_ = permit<T>(std::move(state_));
            state_.reset();
        }

        template <typename Handler>
        void operator()(Handler handler) && {
            if (permit_ && permit_.state_->receiver_gone()) {
                permit_ = permit<T>();
                error_ = channel_errc::closed;
            }
            std::move(handler)(error_, std::move(permit_));
        }

      private:
        std::shared_ptr<state> state_;
        boost::system::error_code error_;
        permit<T> permit_;
    };

    class initiate_reserve {
      public:
        using executor_type = boost::asio::any_io_executor;

        explicit initiate_reserve(std::shared_ptr<state> shared) noexcept
            : state_(std::move(shared)) {}
        executor_type get_executor() const noexcept { return state_->executor(); }

        template <typename Handler>
        void operator()(Handler handler) const {
            const auto keep_alive = state_;  // *this may end once the operation is on its way
            deliver_permit action(keep_alive);
            const auto status = keep_alive->try_reserve();
            if (status != detail::reserve_status::full) {
                action.set_error(status == detail::reserve_status::granted
                                     ? boost::system::error_code()
                                     : make_error_code(channel_errc::closed));
                detail::post_final_step(keep_alive->executor(), std::move(action),
                                        std::move(handler));
                return;
            }
            const std::uint64_t ticket = keep_alive->new_ticket();
            auto slot = boost::asio::get_associated_cancellation_slot(handler);
            if (slot.is_connected()) {
                slot.assign([shared = keep_alive, ticket](boost::asio::cancellation_type) {
                    shared->cancel_reserve(ticket);
                });
            }
            auto executor = detail::working_executor(handler, keep_alive->executor());
            auto& context = detail::context_of(executor, keep_alive->executor());
            using operation =
                detail::waiting_operation<deliver_permit, Handler, decltype(executor)>;
            keep_alive->wait_for_place(operation::create(*keep_alive, ticket, std::move(action),
                                                         std::move(handler), std::move(executor)),
                                       context);
        }

      private:
        std::shared_ptr<state> state_;
    };

    std::shared_ptr<state> state_;
};

}  // namespace stoker
