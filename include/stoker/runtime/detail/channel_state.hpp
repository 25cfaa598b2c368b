#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/asio/error.hpp>

#include <stoker/runtime/detail/channel_core.hpp>

namespace stoker::detail {

/// A channel with its messages: a ring of `capacity` places, allocated once.
template <typename T>
class channel_state final : public channel_core {
    static_assert(std::is_object_v<T> && !std::is_const_v<T>, "a message is a plain object");
    static_assert(std::is_nothrow_move_constructible_v<T>,
                  "permit.send() cannot fail, so moving a message must not throw");

  public:
    channel_state(boost::asio::any_io_executor executor, std::size_t capacity)
        : channel_core(std::move(executor), capacity), ring_(capacity) {}

    /// Fills the place of a permit. Without a receiver the message dies with the caller's copy.
    void send(T& message) noexcept {
        wake_list woken;
        const std::lock_guard lock(mutex_);
        --permits_;
        if (receiver_gone_)
            return;
        ring_[(first_ + messages_) % capacity_].emplace(std::move(message));
        ++messages_;
        wake_receiver(woken);
    }

    /// The last step of a receive; ends its turn.
    boost::system::error_code take(std::optional<T>& message) noexcept {
        wake_list woken;
        const std::lock_guard lock(mutex_);
        if (!finish_receive_locked())
            return boost::asio::error::operation_aborted;
        take_locked(message, woken);
        return {};
    }

    std::optional<T> try_take() noexcept {
        std::optional<T> message;
        wake_list woken;
        const std::lock_guard lock(mutex_);
        if (!receive_pending_)
            take_locked(message, woken);
        return message;
    }

    void remove_receiver() noexcept {
        std::vector<std::optional<T>> dropped;  // dies last: messages may own ends of this channel
        wake_list woken;
        const std::lock_guard lock(mutex_);
        receiver_gone_ = true;
        messages_ = 0;
        dropped.swap(ring_);
        close_locked(woken);
    }

  private:
    void take_locked(std::optional<T>& message, wake_list& woken) noexcept {
        if (messages_ == 0)
            return;
        message.emplace(std::move(*ring_[first_]));
        ring_[first_].reset();
        first_ = (first_ + 1) % capacity_;
        --messages_;
        grant_places(woken);
    }

    std::vector<std::optional<T>> ring_;
    std::size_t first_ = 0;
};

}  // namespace stoker::detail
