#include "worker/batches_under_way.hpp"

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>

namespace asio = boost::asio;

namespace stoker::detail {

class batches_under_way::batch final : public fetch_monitor {
  public:
    batch(batches_under_way& owner, const task_message& given) : task(given), owner_(owner) {
        begun_.reserve(task.index_count);
    }

    void begin_sample(index sample) noexcept override {
        begun_.push_back(sample);  // there is room for all
        owner_.show_oldest();
    }
    void end_sample(index sample) noexcept override {
        const auto found = std::find(begun_.begin(), begun_.end(), sample);
        if (found != begun_.end())
            begun_.erase(found);
        owner_.show_oldest();
    }
    void begin_collate() noexcept override { owner_.watcher_.show_collate(task); }
    bool abandoned() const noexcept override { return owner_.watcher_.stale(task); }

    void show() const noexcept {
        if (!begun_.empty())
            owner_.watcher_.show(task, begun_.front());
    }

    const task_message task;
    asio::cancellation_signal cancellation;

  private:
    batches_under_way& owner_;
    std::vector<index> begun_;  // and not ended, in order
};

batches_under_way::batches_under_way(asio::any_io_executor executor, fetcher& source,
                                     const slab& slots, const batch_maker_settings& settings,
                                     const fetch_limits& limits, batch_watcher& watcher)
    : executor_(std::move(executor)),
      source_(source),
      slots_(slots),
      settings_(settings),
      limits_(limits),
      watcher_(watcher) {}

batches_under_way::~batches_under_way() = default;

void batches_under_way::show_oldest() noexcept {
    if (!all_.empty())
        all_.front()->show();
}

asio::awaitable<void> batches_under_way::run(batch& one) {
    const result_message result =
        co_await make_batch_waiting(source_, slots_, one.task, settings_, one, limits_);
    watcher_.finish(result);
}

void batches_under_way::begin(const task_message& task) {
    ended_.clear();
    const auto place = all_.insert(all_.end(), std::make_unique<batch>(*this, task));
    batch& one = **place;
    auto end = [this, place](const std::exception_ptr& failure) {
        ended_.push_back(std::move(*place));
        all_.erase(place);
        show_oldest();
        if (failure)
            std::rethrow_exception(failure);
    };
    asio::co_spawn(executor_, run(one),
                   asio::bind_cancellation_slot(one.cancellation.slot(), std::move(end)));
}

void batches_under_way::cancel_stale() {
    ended_.clear();
    for (auto next = all_.begin(); next != all_.end();) {
        batch& one = **next++;  // it may end, and leave the list, while it is told
        if (watcher_.stale(one.task))
            one.cancellation.emit(asio::cancellation_type::all);
    }
}

}  // namespace stoker::detail
