#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/system/error_code.hpp>

namespace stoker::detail {

class channel_core;
class parking_lot;

/// An operation that waits in a channel: for a place (reserve) or for a message (receive).
/// Whoever takes it out of its lists, under the channel's mutex, must call exactly one of the two
/// functions, without that mutex and with the channel kept alive; either ends the object.
class channel_wait {
  public:
    channel_wait(const channel_wait&) = delete;
    channel_wait& operator=(const channel_wait&) = delete;

    /// Posts the operation's last step to its executor.
    virtual void complete(boost::system::error_code error) noexcept = 0;
    /// Destroys the operation unfinished: its execution context is being destroyed.
    virtual void abandon() noexcept = 0;

  protected:
    channel_wait(channel_core& core, std::uint64_t ticket) noexcept
        : core_(core), ticket_(ticket) {}
    ~channel_wait() = default;

    channel_core& core_;

  private:
    friend class channel_core;
    friend class parking_lot;
    friend class wake_list;
    friend class wait_queue;

    const std::uint64_t ticket_;
    channel_wait* next_ = nullptr;  // in the queue of a channel, or in a wake_list
    boost::system::error_code error_;
    parking_lot* lot_ = nullptr;
    channel_wait* lot_previous_ = nullptr;
    channel_wait* lot_next_ = nullptr;
};

/// Operations in the order in which they began to wait.
class wait_queue {
  public:
    bool empty() const noexcept { return first_ == nullptr; }
    void push(channel_wait& wait) noexcept;
    channel_wait* pop() noexcept;
    /// The operation with that ticket, taken out; null when it is not (or no longer) here.
    channel_wait* take(std::uint64_t ticket) noexcept;
    /// The first operation parked in that lot, taken out; null when there is none.
    channel_wait* take(const parking_lot& lot) noexcept;

  private:
    template <typename Predicate>
    channel_wait* take_if(Predicate predicate) noexcept;

    channel_wait* first_ = nullptr;
    channel_wait* last_ = nullptr;
};

/// Collects what was decided under the mutex and carries it out when it dies: declare it before
/// the lock.
class wake_list {
  public:
    wake_list() = default;
    wake_list(const wake_list&) = delete;
    wake_list& operator=(const wake_list&) = delete;
    ~wake_list();
    void add(channel_wait& wait, boost::system::error_code error) noexcept;

  private:
    wait_queue woken_;
};

enum class reserve_status { granted, closed, full };
enum class receive_status { ready, busy, wait };

/// A channel without its messages: places, waiters, who is still there. All state is guarded by
/// one mutex, under which neither handlers nor destructors of messages run.
///
/// A place is free, held by a permit, or filled by a message: `messages_ + permits_ <= capacity_`.
/// Places that become free are granted at once, so that nobody waits while one is free.
class channel_core : public std::enable_shared_from_this<channel_core> {
  public:
    channel_core(boost::asio::any_io_executor executor, std::size_t capacity);
    channel_core(const channel_core&) = delete;
    channel_core& operator=(const channel_core&) = delete;

    const boost::asio::any_io_executor& executor() const noexcept { return executor_; }
    std::size_t capacity() const noexcept { return capacity_; }
    std::uint64_t new_ticket() noexcept;
    std::size_t size() const noexcept;
    bool closed() const noexcept;
    void close() noexcept;

    void add_sender() noexcept;
    void remove_sender() noexcept;

    reserve_status try_reserve() noexcept;
    /// Completes `wait` once there is a place, which is then counted as a permit.
    void wait_for_place(channel_wait& wait, boost::asio::execution_context& context);
    void cancel_reserve(std::uint64_t ticket) noexcept;
    void release_permit() noexcept;
    bool receiver_gone() const noexcept;

    /// Unless busy, the caller holds the turn to receive until end_receive() or take().
    receive_status begin_receive(std::uint64_t ticket) noexcept;
    void wait_for_message(channel_wait& wait, boost::asio::execution_context& context);
    void cancel_receive(std::uint64_t ticket) noexcept;
    void end_receive() noexcept;

    /// Gives up all operations that would complete on the context of that lot.
    void abandon(const parking_lot& lot) noexcept;

  protected:
    ~channel_core() = default;

    bool ended() const noexcept;
    void grant_places(wake_list& woken) noexcept;
    void wake_receiver(wake_list& woken) noexcept;
    void close_locked(wake_list& woken) noexcept;
    /// Ends the turn; whether its holder may take a message if there is one.
    bool finish_receive_locked() noexcept;

    mutable std::mutex mutex_;
    const std::size_t capacity_;
    std::size_t messages_ = 0;
    std::size_t permits_ = 0;
    bool receiver_gone_ = false;
    bool receive_pending_ = false;
    bool receive_cancelled_ = false;
    channel_wait* receive_wait_ = nullptr;

  private:
    channel_wait* take_receive_wait() noexcept;

    const boost::asio::any_io_executor executor_;
    std::size_t senders_ = 0;
    bool closed_ = false;
    std::uint64_t last_ticket_ = 0;
    std::uint64_t receive_ticket_ = 0;
    wait_queue reserve_waits_;
};

/// The turn to receive. It ends with this object, so that a receive which is destroyed before its
/// last step (an abandoned coroutine) leaves a channel that can be received from.
class receive_turn {
  public:
    receive_turn() = default;
    explicit receive_turn(std::shared_ptr<channel_core> core) noexcept : core_(std::move(core)) {}
    receive_turn(receive_turn&&) noexcept = default;
    receive_turn& operator=(receive_turn other) noexcept {
        core_.swap(other.core_);
        return *this;
    }
    ~receive_turn() {
        if (core_)
            core_->end_receive();
    }
    /// The turn has ended by itself.
    void forget() noexcept { core_.reset(); }

  private:
    std::shared_ptr<channel_core> core_;
};

}  // namespace stoker::detail
