// Workers that were killed and do not die: a system call that no signal interrupts keeps them, on a
// disk or a server that does not answer. Their number goes to a successor, with new queues; the
// words that it shared with main are its successor's, too, since it never runs code of ours again.

#include <algorithm>

#include "core/system.hpp"
#include "loader/worker_group.hpp"

namespace stoker::detail {

void worker_group::leave_behind(int number) {
    worker_view& worker = workers_[to_size(number)];
    system::epoll_remove(epoll_.get(), worker.pidfd.get());
    system::epoll_add(epoll_.get(), worker.pidfd.get(), EPOLLIN, undead_event,
                      "the end of a worker that was killed");
    undead_.push_back({worker.pid, std::move(worker.pidfd)});
    note_death(worker);
    worker.now = worker_view::state::dead;
    bury(number);
}

bool worker_group::has_died(pid_t left_behind) const {
    return std::none_of(undead_.begin(), undead_.end(),
                        [left_behind](const undead& each) { return each.pid == left_behind; });
}

void worker_group::bury_undead() {
    std::erase_if(undead_, [this](const undead& each) {
        if (!system::wait_readable(each.pidfd.get(), 0, "the end of a worker that was killed"))
            return false;
        system::epoll_remove(epoll_.get(), each.pidfd.get());
        return true;
    });
}

}  // namespace stoker::detail
