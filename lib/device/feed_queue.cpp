#include "device/feed_queue.hpp"

#include <array>
#include <optional>
#include <string>
#include <utility>

#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>

#include <stoker/core/error.hpp>
#include "core/system.hpp"

namespace stoker::detail {

namespace {

constexpr std::chrono::milliseconds default_patience{30'000};

}  // namespace

feed_engine::queue::queue(std::shared_ptr<engine> loader, std::shared_ptr<feed_core> core)
    : loader_(std::move(loader)),
      core_(std::move(core)),
      timer_(system::timer("a device feed")),
      wait_set_(system::epoll("a device feed")) {
    system::epoll_add(wait_set_.get(), core_->bell().number(), EPOLLIN, 0, "a device feed");
    system::epoll_add(wait_set_.get(), timer_.get(), EPOLLIN, 1, "a device feed");
}

feed_engine::queue::need feed_engine::queue::look() {
    if (closed_)
        throw boost::system::system_error(boost::asio::error::operation_aborted);
    if (const std::exception_ptr broken = core_->fault())
        std::rethrow_exception(broken);
    if (parked_ && core_->can_submit())
        submit(parked_);
    need found = need::nothing;
    if (entries_.empty())
        found = !parked_ && core_->can_submit() ? need::host : need::room;
    if (found != need::room)
        end_wait();
    return found;
}

/// An outlier that finds no bounce buffer is parked; everything behind it waits for it.
void feed_engine::queue::submit(lease& batch) {
    try {
        if (std::optional<device_lease> sent = core_->submit(batch)) {
            entries_.push_back({std::move(*sent), nullptr});
            parked_ = {};
        } else if (&batch != &parked_) {
            parked_ = std::move(batch);
        }
    } catch (...) {
        parked_ = {};
        add_failure(std::current_exception());
    }
}

void feed_engine::queue::add(lease batch) {
    if (batch)
        submit(batch);
    else
        entries_.emplace_back();
}

void feed_engine::queue::add_failure(std::exception_ptr failure) {
    entries_.push_back({{}, std::move(failure)});
}

device_lease feed_engine::queue::take() {
    entry taken = std::move(entries_.front());
    entries_.pop_front();
    if (taken.failure)
        std::rethrow_exception(taken.failure);
    delivered_ = static_cast<bool>(taken.batch);
    // Behind an end or a failure begins what the user may not ask for.
    if (taken.batch)
        send_ahead();
    return std::move(taken.batch);
}

void feed_engine::queue::send_ahead() {
    // Without workers the loader would load here and now, while the device waits for the step that
    // the user is about to enqueue.
    if (loader_->options().num_workers == 0)
        return;
    while (entries_.size() < core_->depth() && !parked_ && core_->can_submit()) {
        if (!entries_.empty() && !entries_.back().batch)
            return;
        lease batch;
        try {
            if (loader_->try_next(batch) == outcome::pending)
                return;
        } catch (...) {
            add_failure(std::current_exception());
            return;
        }
        add(std::move(batch));
    }
}

std::chrono::milliseconds feed_engine::queue::patience() const {
    const std::chrono::milliseconds given = loader_->options().timeout;
    return given.count() > 0 ? given : default_patience;
}

void feed_engine::queue::want_room() {
    core_->bell().clear();
    core_->want_bell();
    if (std::exchange(waiting_, true))
        return;  // one wait, one deadline, however often it was woken for nothing
    core_->count_wait();
    const std::chrono::nanoseconds left = patience();
    system::set_timer(timer_.get(), static_cast<std::uint64_t>(left.count()), "a device feed");
}

void feed_engine::queue::awoken() {
    std::array<epoll_event, 2> events{};
    const std::size_t count = system::epoll_wait(wait_set_.get(), events, 0, "a device feed");
    bool late = false;
    bool rung = false;
    for (std::size_t i = 0; i < count; ++i)
        (events[i].data.u64 == 1 ? late : rung) = true;
    if (late && !rung) {
        end_wait();
        throw error(errc::no_free_slot,
                    "for " + std::to_string(patience().count()) +
                        " ms no buffer of the device "
                        "feed got free: " +
                        std::to_string(core_->held()) +
                        " batches are held or lent; hold is the option for more");
    }
}

void feed_engine::queue::end_wait() {
    if (std::exchange(waiting_, false))
        system::set_timer(timer_.get(), 0, "a device feed");
}

void feed_engine::queue::forget() {
    entries_.clear();
    parked_ = {};
    delivered_ = false;
}

void feed_engine::queue::restart() {
    // What was sent ahead and not taken is no delivery.
    if (!delivered_ && !entries_.empty() && entries_.front().batch) {
        restart(entries_.front().batch.record().epoch);
        return;
    }
    forget();
    loader_->restart();
}

void feed_engine::queue::restart(std::uint64_t epoch) {
    forget();
    loader_->restart(epoch);
}

void feed_engine::queue::close() noexcept {
    closed_ = true;
    entries_.clear();
    parked_ = {};
    loader_->close();
    core_->bell().ring();
}

}  // namespace stoker::detail
