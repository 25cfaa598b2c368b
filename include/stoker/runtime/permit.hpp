#pragma once

#include <cassert>
#include <memory>
#include <utility>

#include <stoker/runtime/detail/channel_state.hpp>

namespace stoker {

template <typename T>
class sender;

/// A place in a channel, got by `sender::reserve()`, for one message.
///
/// Lifetime: move-only; a permit that dies unused gives its place back. It keeps the channel open
/// as a sender does, also for a message sent after `close()`. Moved from, it is false.
///
/// Thread safety: distinct permits may be used at the same time; one permit by one thread.
template <typename T>
class permit {
  public:
    permit() = default;
    permit(permit&& other) noexcept = default;
    permit& operator=(permit&& other) noexcept {
        permit(std::move(other)).swap(*this);
        return *this;
    }
    ~permit() {
        if (state_)
            state_->release_permit();
    }

    /// Whether there is a place to send into.
    explicit operator bool() const noexcept { return state_ != nullptr; }

    /// Puts the message into the channel, at once and without fail; the permit is then used up.
    /// When the receiver is gone the message is destroyed. Requires a permit that is true.
    void send(T message) noexcept {
        assert(state_);
        const auto state = std::move(state_);
        state->send(message);
    }

    void swap(permit& other) noexcept { state_.swap(other.state_); }

  private:
    friend class sender<T>;
    explicit permit(std::shared_ptr<detail::channel_state<T>> state) noexcept
        : state_(std::move(state)) {}

    std::shared_ptr<detail::channel_state<T>> state_;
};

}  // namespace stoker
