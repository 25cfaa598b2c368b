#pragma once

#include "core/descriptor.hpp"

namespace stoker::detail {

/// An eventfd that wakes whoever sleeps on it: one per worker for tasks, one of main for all
/// results. It says "look again", never how often or why; what there is lies in the queues.
/// Non-blocking on both sides, so that neither a full counter nor a dead peer holds anybody up.
///
/// Thread safety: `ring` and `clear` from any thread and any process that has the descriptor.
class doorbell {
  public:
    /// No bell: `ring` and `clear` do nothing.
    doorbell() = default;
    /// Adopts an eventfd made by `create` here or in another process.
    explicit doorbell(descriptor number) noexcept : number_(static_cast<descriptor&&>(number)) {}
    /// A new bell, non-blocking and CLOEXEC. Throws error{resource}.
    static doorbell create();

    /// Makes the descriptor readable, now or still.
    void ring() const noexcept { ring(number_.get()); }
    /// Makes it unreadable until the next ring. What was announced before must be looked at after.
    void clear() const noexcept;
    /// For poll, epoll and SCM_RIGHTS; -1 when there is no bell.
    int number() const noexcept { return number_.get(); }

    /// Rings by number, for those who only borrow the bell.
    static void ring(int number) noexcept;

  private:
    descriptor number_{};
};

}  // namespace stoker::detail
