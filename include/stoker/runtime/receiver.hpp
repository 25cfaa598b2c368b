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
#include <stoker/runtime/detail/channel_state.hpp>

namespace stoker {

template <typename T>
class channel;

/// The side of a channel that receives; the mailbox of the actor that owns it.
///
/// Lifetime: move-only. When it dies, queued messages die with it, waiting `reserve()`s fail with
/// `channel_errc::closed`, and a pending receive with `operation_aborted`. Only destruction and
/// assignment are allowed on a moved-from receiver.
///
/// Thread safety: one thread at a time for one receiver; senders may be used meanwhile.
template <typename T>
class receiver {
  public:
    receiver(receiver&&) noexcept = default;
    receiver& operator=(receiver&& other) noexcept {
        receiver(std::move(other)).state_.swap(state_);
        return *this;
    }
    ~receiver() {
        if (state_)
            state_->remove_receiver();
    }

    /// Waits for the next message; empty at the end, which is when nothing is queued and nobody
    /// can send any more: all senders are gone, or the channel is closed, and no permit is left.
    ///
    ///     while (auto message = co_await rx.receive()) handle(*message);
    ///
    /// Completes with `void(error_code, std::optional<T>)` on the executor associated with the
    /// handler, otherwise the channel's; never inside this function. The message is taken in the
    /// very last step, on that executor: a receive that was cancelled, by any type of
    /// cancellation, or whose coroutine was destroyed, has taken nothing. Errors:
    /// `operation_aborted` on cancellation; `channel_errc::busy` while another receive is pending.
    template <boost::asio::completion_token_for<void(boost::system::error_code, std::optional<T>)>
                  Token = boost::asio::use_awaitable_t<>>
    auto receive(Token&& token = Token()) {
        return boost::asio::async_initiate<Token,
                                           void(boost::system::error_code, std::optional<T>)>(
            initiate_receive(state_), token);
    }

    /// The next message if one is queued now. Empty says nothing about the end, and is the answer
    /// while a receive is pending.
    std::optional<T> try_receive() noexcept { return state_->try_take(); }

    /// Refuses new messages; queued ones, and those of permits given out, can still be received.
    void close() noexcept { state_->close(); }
    /// Number of messages queued now.
    std::size_t size() const noexcept { return state_->size(); }
    std::size_t capacity() const noexcept { return state_->capacity(); }

  private:
    friend class channel<T>;
    using state = detail::channel_state<T>;

    explicit receiver(std::shared_ptr<state> shared) noexcept : state_(std::move(shared)) {}

    /// Last step of a receive that has the turn, or the refusal of one that has not.
    class deliver_message {
      public:
        explicit deliver_message(std::shared_ptr<state> shared) noexcept
            : state_(std::move(shared)) {}

        void hold_turn() noexcept { turn_ = detail::receive_turn(state_); }
        void set_error(boost::system::error_code error) noexcept { error_ = error; }

        template <typename Handler>
        void operator()(Handler handler) && {
            std::optional<T> message;
            if (!error_) {
                error_ = state_->take(message);
                turn_.forget();
            }
            { const auto ended = std::move(turn_); }  // before the handler, which may receive again
            state_.reset();
            std::move(handler)(error_, std::move(message));
        }

      private:
        std::shared_ptr<state> state_;
        detail::receive_turn turn_;
        boost::system::error_code error_;
    };

    class initiate_receive {
      public:
        using executor_type = boost::asio::any_io_executor;

        explicit initiate_receive(std::shared_ptr<state> shared) noexcept
            : state_(std::move(shared)) {}
        executor_type get_executor() const noexcept { return state_->executor(); }

        template <typename Handler>
        void operator()(Handler handler) const {
            const auto keep_alive = state_;  // *this may end once the operation is on its way
            deliver_message action(keep_alive);
            const std::uint64_t ticket = keep_alive->new_ticket();
            const auto status = keep_alive->begin_receive(ticket);
            if (status == detail::receive_status::busy) {
                action.set_error(channel_errc::busy);
                detail::post_final_step(keep_alive->executor(), std::move(action),
                                        std::move(handler));
                return;
            }
            action.hold_turn();
            auto slot = boost::asio::get_associated_cancellation_slot(handler);
            if (slot.is_connected()) {
                slot.assign([shared = keep_alive, ticket](boost::asio::cancellation_type) {
                    shared->cancel_receive(ticket);
                });
            }
            if (status == detail::receive_status::ready) {
                detail::post_final_step(keep_alive->executor(), std::move(action),
                                        std::move(handler));
                return;
            }
            auto executor = detail::working_executor(handler, keep_alive->executor());
            auto& context = detail::context_of(executor, keep_alive->executor());
            using operation =
                detail::waiting_operation<deliver_message, Handler, decltype(executor)>;
            keep_alive->wait_for_message(operation::create(*keep_alive, ticket, std::move(action),
                                                           std::move(handler), std::move(executor)),
                                         context);
        }

      private:
        std::shared_ptr<state> state_;
    };

    std::shared_ptr<state> state_;
};

}  // namespace stoker
