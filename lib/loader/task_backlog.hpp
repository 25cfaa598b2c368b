#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ipc/messages.hpp"

namespace stoker::detail {

/// A first-in, first-out list of tasks with a fixed capacity: no allocation after `reset`.
class task_backlog {
  public:
    void reset(std::size_t capacity) {
        tasks_.assign(capacity, task_message{});
        first_ = size_ = 0;
    }
    bool empty() const { return size_ == 0; }
    std::size_t size() const { return size_; }
    const task_message& front() const { return tasks_[first_]; }
    void pop() {
        first_ = (first_ + 1) % tasks_.size();
        --size_;
    }
    /// The caller keeps within the capacity.
    void push(const task_message& task) {
        tasks_[(first_ + size_) % tasks_.size()] = task;
        ++size_;
    }

  private:
    std::vector<task_message> tasks_;
    std::size_t first_ = 0;
    std::size_t size_ = 0;
};

}  // namespace stoker::detail
