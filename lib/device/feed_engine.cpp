// `next()` and `completed()` as composed operations, with the promises of the loader's (see
// loader/engine.cpp): never inside the initiating call, nothing is lost to cancellation,
// descriptors are bound to the awaiting side's executor only while something waits.

#include <stoker/device/feed_engine.hpp>

#include <optional>
#include <utility>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/compose.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/system/system_error.hpp>

#include <stoker/core/error.hpp>
#include "core/profile_range.hpp"
#include "core/system.hpp"
#include "device/feed_queue.hpp"

namespace stoker::detail {

namespace asio = boost::asio;

namespace {

struct unbind {
    void operator()(asio::posix::stream_descriptor* bound) const noexcept {
        boost::system::error_code ignored;
        bound->cancel(ignored);
        bound->release();
        delete bound;
    }
};
/// A descriptor that is somebody else's, bound while this lives.
using binding = std::unique_ptr<asio::posix::stream_descriptor, unbind>;

binding bind(const asio::any_io_executor& executor, int number) {
    return binding(new asio::posix::stream_descriptor(executor, number));
}

std::exception_ptr aborted() {
    return std::make_exception_ptr(boost::system::system_error(asio::error::operation_aborted));
}

/// Marks something as busy, until it is destroyed or moved from.
class busy_mark {
  public:
    busy_mark(std::shared_ptr<void> owner, bool& mark) : owner_(std::move(owner)), mark_(&mark) {
        *mark_ = true;
    }
    busy_mark(busy_mark&&) noexcept = default;
    busy_mark& operator=(busy_mark&&) = delete;
    ~busy_mark() {
        if (owner_)
            *mark_ = false;
    }

  private:
    std::shared_ptr<void> owner_;
    bool* mark_;
};

error busy_error() {
    return error(errc::busy, "a next() of this device feed is pending");
}

}  // namespace

struct feed_engine::next_operation {
    enum class step { start, refused, look, room };

    std::shared_ptr<feed_engine> owner;
    asio::any_io_executor executor;
    std::optional<busy_mark> mark{};
    binding bound{};
    step now = step::start;
    profile_range waiting{};  // for profilers

    template <class Self>
    void operator()(Self& self, boost::system::error_code failure = {}) {
        queue& all = *owner->queue_;
        if (now == step::start) {
            self.reset_cancellation_state(asio::enable_total_cancellation());
            now = all.pending ? step::refused : step::look;
            if (now == step::look)
                mark.emplace(owner, all.pending);
            const asio::any_io_executor target = executor;  // self takes this object along
            asio::post(target, std::move(self));
            return;
        }
        bound.reset();
        waiting.end();
        if (now == step::refused)
            finish(self, std::make_exception_ptr(busy_error()));
        else if (self.cancelled() != asio::cancellation_type::none)
            finish(self, aborted());
        else if (failure)
            finish(self, std::make_exception_ptr(boost::system::system_error(failure)));
        else
            look(self);
    }

    /// The loader's answer. A batch that comes with a cancellation is kept for the next call.
    template <class Self>
    void operator()(Self& self, const std::exception_ptr& failure, lease batch) {
        if (self.cancelled() != asio::cancellation_type::none) {
            if (!failure)
                owner->queue_->add(std::move(batch));
            finish(self, aborted());
            return;
        }
        if (failure) {
            finish(self, failure);
            return;
        }
        owner->queue_->add(std::move(batch));
        look(self);
    }

    template <class Self>
    void look(Self& self) {
        queue& all = *owner->queue_;
        queue::need missing{};
        try {
            if (now == step::room)
                all.awoken();
            missing = all.look();
            if (missing == queue::need::room) {
                all.want_room();
                missing = all.look();
            }
        } catch (...) {
            finish(self, std::current_exception());
            return;
        }
        now = missing == queue::need::room ? step::room : step::look;
        switch (missing) {
            case queue::need::nothing:
                take(self);
                break;
            case queue::need::host: {
                engine& loader = *owner->loader_;
                const asio::any_io_executor target = executor;
                loader.async_next(target, std::move(self));
                break;
            }
            case queue::need::room: {
                try {
                    bound = bind(executor, all.wait_descriptor());
                } catch (...) {  // the executor's context has no descriptor or memory for it
                    finish(self, std::current_exception());
                    return;
                }
                waiting = profile_range("wait for release", 0);
                asio::posix::stream_descriptor& waited = *bound;
                waited.async_wait(asio::posix::stream_descriptor::wait_read, std::move(self));
                break;
            }
        }
    }

    template <class Self>
    void take(Self& self) {
        device_lease batch;
        try {
            batch = owner->queue_->take();
        } catch (...) {
            finish(self, std::current_exception());
            return;
        }
        finish(self, nullptr, std::move(batch));
    }

    template <class Self>
    void finish(Self& self, std::exception_ptr failure, device_lease batch = {}) {
        mark.reset();  // the handler may ask for the next one at once
        self.complete(std::move(failure), std::move(batch));
    }
};

/// The waiter's thread rings, the descriptor tells: so no handler ever leaves its context.
struct feed_engine::completed_operation {
    std::shared_ptr<feed_engine> owner;
    asio::any_io_executor executor;
    std::shared_ptr<stream_completion> told;
    std::exception_ptr failure{};
    binding bound{};
    bool started = false;

    template <class Self>
    void operator()(Self& self, boost::system::error_code waiting = {}) {
        const asio::any_io_executor target = executor;
        if (!std::exchange(started, true)) {
            self.reset_cancellation_state(asio::enable_total_cancellation());
            try {
                if (!failure)
                    bound = bind(target, told->bell.number());
            } catch (...) {  // the executor's context has no descriptor or memory for it
                failure = std::current_exception();
            }
            if (failure) {
                asio::post(target, std::move(self));
                return;
            }
            asio::posix::stream_descriptor& waited = *bound;
            waited.async_wait(asio::posix::stream_descriptor::wait_read, std::move(self));
            return;
        }
        bound.reset();
        if (!failure && waiting)
            failure = std::make_exception_ptr(boost::system::system_error(waiting));
        // What the stream did happens before what the user does now.
        const int code = told->code.load(std::memory_order_acquire);
        if (!failure && code != cuda_code::success)
            failure = owner->queue_->core().failure_of(code, "completed(stream)");
        self.complete(std::move(failure));
    }
};

feed_engine::feed_engine(feed_parts_erased parts) : loader_(std::move(parts.loader)) {
    parts.loader = loader_;
    queue_ = std::make_unique<queue>(loader_, std::make_shared<feed_core>(parts));
}

feed_engine::~feed_engine() = default;

std::shared_ptr<feed_engine> feed_engine::make(feed_parts_erased parts) {
    return std::shared_ptr<feed_engine>(new feed_engine(std::move(parts)));
}

void feed_engine::async_next(asio::any_io_executor executor, batch_handler completion) {
    auto bound = asio::bind_executor(executor, std::move(completion));
    next_operation operation{shared_from_this(), executor};
    asio::async_compose<decltype(bound), void(std::exception_ptr, device_lease)>(
        std::move(operation), bound, executor);
}

device_lease feed_engine::next_blocking() {
    if (queue_->pending)
        throw busy_error();
    const busy_mark mark(shared_from_this(), queue_->pending);
    for (;;) {
        queue::need missing = queue_->look();
        if (missing == queue::need::room) {
            queue_->want_room();
            missing = queue_->look();
        }
        if (missing == queue::need::nothing)
            return queue_->take();
        if (missing == queue::need::host) {
            queue_->add(loader_->next_blocking());
            continue;
        }
        const profile_range waiting("wait for release", 0);
        system::wait_readable(queue_->wait_descriptor(), -1, "a device feed");
        queue_->awoken();
    }
}

void feed_engine::async_completed(asio::any_io_executor executor, CUstream_st* stream,
                                  done_handler completion) {
    auto bound = asio::bind_executor(executor, std::move(completion));
    completed_operation operation{shared_from_this(), executor,
                                  std::make_shared<stream_completion>()};
    try {  // now, so that what is enqueued later is not waited for
        queue_->core().complete(operation.told, stream);
    } catch (...) {
        operation.failure = std::current_exception();
    }
    asio::async_compose<decltype(bound), void(std::exception_ptr)>(std::move(operation), bound,
                                                                   executor);
}

void feed_engine::restart() {
    if (queue_->pending)
        throw busy_error();
    queue_->restart();
}
void feed_engine::restart(std::uint64_t epoch) {
    if (queue_->pending)
        throw busy_error();
    queue_->restart(epoch);
}
feed_stats feed_engine::stats() const {
    return queue_->core().stats();
}
void feed_engine::close() noexcept {
    queue_->close();
}

}  // namespace stoker::detail
