// The part of a channel that does not depend on the type of its messages.
//
// Problem: a waiting operation holds a coroutine, the coroutine holds an end of the channel, and
// the channel holds the operation. While somebody may still wake it, that ring is wanted; when the
// io_context is destroyed, nothing would ever break it, since the operation is in no queue of Asio.
// So every waiting operation is also parked with the context that it would complete on, in a
// service, whose shutdown() gives it up. It is the context of the *operation*, not the channel's:
// the two ends of a channel may live on different contexts, which end in any order.
//
// Locks: a channel's mutex comes before a lot's. The lot therefore never calls a channel with its
// own mutex held: it picks one parked operation, keeps the channel alive, lets go, and asks that
// channel to give up all that is parked here. Taking an operation out of the channel and out of
// the lot is one step under the channel's mutex, so both always agree about who owns it.
//
// Wake-ups are decided under the mutex and carried out after it (wake_list), because posting may
// run the code of an executor, and ending an operation may run destructors of whole coroutines.
#include <string>
#include <utility>

#include <boost/asio/error.hpp>
#include <boost/asio/execution_context.hpp>

#include <stoker/core/error.hpp>
#include <stoker/runtime/channel_errc.hpp>
#include <stoker/runtime/detail/channel_core.hpp>

namespace stoker {

namespace {

class channel_category_type final : public boost::system::error_category {
  public:
    const char* name() const noexcept override { return "stoker.channel"; }
    std::string message(int value) const override {
        switch (static_cast<channel_errc>(value)) {
            case channel_errc::closed:
                return "the channel is closed or its receiver is gone: nothing more can be sent";
            case channel_errc::busy:
                return "another receive is pending: a channel has one waiter on its receiving side";
        }
        return "unknown channel error";
    }
};

}  // namespace

const boost::system::error_category& channel_category() noexcept {
    static const channel_category_type category;
    return category;
}

boost::system::error_code make_error_code(channel_errc code) noexcept {
    return {static_cast<int>(code), channel_category()};
}

namespace detail {

/// The waiting operations of one execution context.
class parking_lot final : public boost::asio::execution_context::service {
  public:
    using key_type = parking_lot;
    static inline boost::asio::execution_context::id id;

    explicit parking_lot(boost::asio::execution_context& context) : service(context) {}

    void add(channel_wait& wait) noexcept {
        const std::lock_guard lock(mutex_);
        wait.lot_ = this;
        wait.lot_next_ = first_;
        if (first_ != nullptr)
            first_->lot_previous_ = &wait;
        first_ = &wait;
    }

    void remove(channel_wait& wait) noexcept {
        const std::lock_guard lock(mutex_);
        (wait.lot_previous_ != nullptr ? wait.lot_previous_->lot_next_ : first_) = wait.lot_next_;
        if (wait.lot_next_ != nullptr)
            wait.lot_next_->lot_previous_ = wait.lot_previous_;
        wait.lot_previous_ = wait.lot_next_ = nullptr;
        wait.lot_ = nullptr;
    }

  private:
    void shutdown() override {
        while (const auto core = any_core())
            core->abandon(*this);
    }

    std::shared_ptr<channel_core> any_core() {
        const std::lock_guard lock(mutex_);
        return first_ != nullptr ? first_->core_.shared_from_this() : nullptr;
    }

    std::mutex mutex_;
    channel_wait* first_ = nullptr;
};

void wait_queue::push(channel_wait& wait) noexcept {
    wait.next_ = nullptr;
    (last_ != nullptr ? last_->next_ : first_) = &wait;
    last_ = &wait;
}

channel_wait* wait_queue::pop() noexcept {
    return take_if([](const channel_wait&) { return true; });
}

channel_wait* wait_queue::take(std::uint64_t ticket) noexcept {
    return take_if([ticket](const channel_wait& wait) { return wait.ticket_ == ticket; });
}

channel_wait* wait_queue::take(const parking_lot& lot) noexcept {
    return take_if([&lot](const channel_wait& wait) { return wait.lot_ == &lot; });
}

template <typename Predicate>
channel_wait* wait_queue::take_if(Predicate predicate) noexcept {
    channel_wait* previous = nullptr;
    for (channel_wait* wait = first_; wait != nullptr; previous = wait, wait = wait->next_) {
        if (!predicate(*wait))
            continue;
        (previous != nullptr ? previous->next_ : first_) = wait->next_;
        if (last_ == wait)
            last_ = previous;
        wait->next_ = nullptr;
        return wait;
    }
    return nullptr;
}

wake_list::~wake_list() {
    while (channel_wait* const wait = woken_.pop())
        wait->complete(wait->error_);
}

void wake_list::add(channel_wait& wait, boost::system::error_code error) noexcept {
    if (wait.lot_ != nullptr)
        wait.lot_->remove(wait);
    wait.error_ = error;
    woken_.push(wait);
}

/// The lot of that context; without one the operation cannot wait, and is given up.
static parking_lot& lot_of(boost::asio::execution_context& context, channel_wait& wait) {
    try {
        return boost::asio::use_service<parking_lot>(context);
    } catch (...) {
        wait.abandon();
        throw;
    }
}

channel_core::channel_core(boost::asio::any_io_executor executor, std::size_t capacity)
    : capacity_(capacity), executor_(std::move(executor)) {
    if (capacity == 0) {
        throw error(errc::invalid_option, "channel: capacity must be at least 1, not 0");
    }
}

std::uint64_t channel_core::new_ticket() noexcept {
    const std::lock_guard lock(mutex_);
    return ++last_ticket_;
}

std::size_t channel_core::size() const noexcept {
    const std::lock_guard lock(mutex_);
    return messages_;
}

bool channel_core::closed() const noexcept {
    const std::lock_guard lock(mutex_);
    return closed_;
}

bool channel_core::receiver_gone() const noexcept {
    const std::lock_guard lock(mutex_);
    return receiver_gone_;
}

void channel_core::close() noexcept {
    wake_list woken;
    const std::lock_guard lock(mutex_);
    close_locked(woken);
}

void channel_core::close_locked(wake_list& woken) noexcept {
    closed_ = true;
    while (channel_wait* const wait = reserve_waits_.pop())
        woken.add(*wait, channel_errc::closed);
    if (!receiver_gone_) {
        wake_receiver(woken);
        return;
    }
    if (receive_wait_ != nullptr) {
        woken.add(*take_receive_wait(), boost::asio::error::operation_aborted);
    }
    receive_cancelled_ = receive_pending_;
}

void channel_core::add_sender() noexcept {
    const std::lock_guard lock(mutex_);
    ++senders_;
}

void channel_core::remove_sender() noexcept {
    wake_list woken;
    const std::lock_guard lock(mutex_);
    --senders_;
    wake_receiver(woken);
}

bool channel_core::ended() const noexcept {
    return messages_ == 0 && permits_ == 0 && (closed_ || senders_ == 0);
}

void channel_core::grant_places(wake_list& woken) noexcept {
    while (messages_ + permits_ < capacity_) {
        channel_wait* const wait = reserve_waits_.pop();
        if (wait == nullptr)
            return;
        ++permits_;
        woken.add(*wait, {});
    }
}

void channel_core::wake_receiver(wake_list& woken) noexcept {
    if (receive_wait_ != nullptr && (messages_ > 0 || ended())) {
        woken.add(*take_receive_wait(), {});
    }
}

reserve_status channel_core::try_reserve() noexcept {
    const std::lock_guard lock(mutex_);
    if (closed_)
        return reserve_status::closed;
    if (messages_ + permits_ == capacity_)
        return reserve_status::full;
    ++permits_;
    return reserve_status::granted;
}

void channel_core::wait_for_place(channel_wait& wait, boost::asio::execution_context& context) {
    parking_lot& lot = lot_of(context, wait);
    wake_list woken;
    const std::lock_guard lock(mutex_);
    if (closed_) {
        woken.add(wait, channel_errc::closed);
        return;
    }
    reserve_waits_.push(wait);
    lot.add(wait);
    grant_places(woken);
}

void channel_core::cancel_reserve(std::uint64_t ticket) noexcept {
    wake_list woken;
    const std::lock_guard lock(mutex_);
    channel_wait* const wait = reserve_waits_.take(ticket);
    if (wait != nullptr)
        woken.add(*wait, boost::asio::error::operation_aborted);
}

void channel_core::release_permit() noexcept {
    wake_list woken;
    const std::lock_guard lock(mutex_);
    --permits_;
    grant_places(woken);
    wake_receiver(woken);
}

receive_status channel_core::begin_receive(std::uint64_t ticket) noexcept {
    const std::lock_guard lock(mutex_);
    if (receive_pending_)
        return receive_status::busy;
    receive_pending_ = true;
    receive_cancelled_ = false;
    receive_ticket_ = ticket;
    return messages_ > 0 || ended() ? receive_status::ready : receive_status::wait;
}

void channel_core::wait_for_message(channel_wait& wait, boost::asio::execution_context& context) {
    parking_lot& lot = lot_of(context, wait);
    wake_list woken;
    const std::lock_guard lock(mutex_);
    if (receive_cancelled_ || receiver_gone_) {
        woken.add(wait, boost::asio::error::operation_aborted);
        return;
    }
    receive_wait_ = &wait;
    lot.add(wait);
    wake_receiver(woken);
}

channel_wait* channel_core::take_receive_wait() noexcept {
    return std::exchange(receive_wait_, nullptr);
}

void channel_core::cancel_receive(std::uint64_t ticket) noexcept {
    wake_list woken;
    const std::lock_guard lock(mutex_);
    if (!receive_pending_ || receive_ticket_ != ticket)
        return;
    receive_cancelled_ = true;  // its last step, if posted already, sees this and takes nothing
    if (receive_wait_ != nullptr) {
        woken.add(*take_receive_wait(), boost::asio::error::operation_aborted);
    }
}

bool channel_core::finish_receive_locked() noexcept {
    receive_pending_ = false;
    return !receive_cancelled_;
}

void channel_core::end_receive() noexcept {
    const std::lock_guard lock(mutex_);
    receive_pending_ = false;
}

void channel_core::abandon(const parking_lot& lot) noexcept {
    wait_queue abandoned;
    {
        const std::lock_guard lock(mutex_);
        const auto take = [&](channel_wait& wait) {
            wait.lot_->remove(wait);
            abandoned.push(wait);
        };
        if (receive_wait_ != nullptr && receive_wait_->lot_ == &lot)
            take(*take_receive_wait());
        while (channel_wait* const wait = reserve_waits_.take(lot))
            take(*wait);
    }
    while (channel_wait* const wait = abandoned.pop())
        wait->abandon();
}

}  // namespace detail

}  // namespace stoker
