// Structured concurrency: children that cannot outlive the coroutine that awaits them.
//
// The body is a child like the others, so that a failing sibling can cancel it wherever it is
// suspended; the awaiting coroutine itself only waits for the last child to end.
//
// A cancellation_signal may be emitted only where its coroutine runs, so each child has a signal
// of its own, and cancelling it means dispatching the emission to its executor. A child becomes
// visible to cancel() only after co_spawn has returned: the slot is being filled until then.
//
// An io_context that is destroyed destroys its suspended children unfinished. Their completion
// handlers notice (child_end's destructor) and report it as a failure, so that the last one ends
// the join in every case: on a context that lives, the awaiting coroutine gets an exception; on
// one that is being destroyed, the join's last step is destroyed with it, and so is the coroutine,
// after its children.
#include <exception>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <stoker/runtime/scope.hpp>

namespace stoker {

namespace asio = boost::asio;

namespace {

/// How a scope ended, as a value: thrown, it would end the coroutine that still has to clean up.
class outcome {
  public:
    outcome() = default;
    explicit outcome(std::exception_ptr failure) noexcept : failure_(std::move(failure)) {}
    void rethrow() const {
        if (failure_)
            std::rethrow_exception(failure_);
    }

  private:
    std::exception_ptr failure_;
};

/// The coroutine that waits for the last child; destroyed with this object when it never comes.
/// (any_completion_handler of Boost 1.81 takes itself for a handler when it is captured and moved.)
class waiting_parent {
  public:
    waiting_parent() = default;
    waiting_parent(const waiting_parent&) = delete;
    waiting_parent& operator=(const waiting_parent&) = delete;
    virtual ~waiting_parent() = default;
    virtual void resume(const asio::any_io_executor& executor, outcome result) = 0;
};

template <typename Handler>
class waiting_parent_of final : public waiting_parent {
  public:
    explicit waiting_parent_of(Handler handler) : handler_(std::move(handler)) {}

    void resume(const asio::any_io_executor& executor, outcome result) override {
        asio::post(executor, [handler = std::move(handler_), result = std::move(result)]() mutable {
            auto slot = asio::get_associated_cancellation_slot(handler);
            if (slot.is_connected())
                slot.clear();
            std::move(handler)(std::move(result));
        });
    }

  private:
    Handler handler_;
};

bool is_cancellation(const std::exception_ptr& failure) noexcept {
    try {
        std::rethrow_exception(failure);
    } catch (const boost::system::system_error& error) {
        return error.code() == asio::error::operation_aborted;
    } catch (...) {
        return false;
    }
}

struct child {
    explicit child(const asio::any_io_executor& where) : executor(where) {}

    const asio::any_io_executor executor;
    asio::cancellation_signal signal;
    std::exception_ptr failure;  // set by the child before it ends
    bool ended = false;          // guarded by the scope's mutex
    std::optional<std::list<std::shared_ptr<child>>::iterator> place;  // likewise
};

/// Keeps the exception for the parent alone, instead of leaving co_spawn another reference to it:
/// so it is the parent that destroys it, on its own thread.
asio::awaitable<void> guarded(std::shared_ptr<child> which, asio::awaitable<void> work) {
    try {
        co_await std::move(work);
    } catch (...) {
        which->failure = std::current_exception();
    }
}

void cancel_child(const std::shared_ptr<child>& which) {
    asio::dispatch(which->executor, [which] { which->signal.emit(asio::cancellation_type::all); });
}

}  // namespace

namespace detail {

class scope_state : public std::enable_shared_from_this<scope_state> {
  public:
    explicit scope_state(asio::any_io_executor executor) : executor_(std::move(executor)) {}

    const asio::any_io_executor& executor() const noexcept { return executor_; }

    void spawn(const asio::any_io_executor& executor, asio::awaitable<void> work);
    void cancel(bool expected);
    void fail(std::exception_ptr failure);
    void child_ended(child& which, std::exception_ptr failure);
    /// `slot` is where the parent's cancellation arrives.
    void join(std::unique_ptr<waiting_parent> parent, asio::cancellation_slot slot);

  private:
    /// The children to cancel, the last one first.
    std::vector<std::shared_ptr<child>> begin_cancel() {
        cancelled_ = true;
        return {children_.rbegin(), children_.rend()};
    }

    const asio::any_io_executor executor_;
    std::mutex mutex_;
    std::list<std::shared_ptr<child>> children_;
    std::size_t running_ = 0;
    bool cancelled_ = false;
    bool end_expected_ = false;
    std::exception_ptr failure_;
    std::unique_ptr<waiting_parent> parent_;
};

}  // namespace detail

namespace {

/// Completion handler of a child.
class child_end {
  public:
    using cancellation_slot_type = asio::cancellation_slot;

    child_end(std::shared_ptr<detail::scope_state> state, std::shared_ptr<child> which) noexcept
        : state_(std::move(state)), child_(std::move(which)) {}
    child_end(child_end&&) noexcept = default;
    child_end& operator=(child_end&&) = delete;
    ~child_end() {
        if (!state_)
            return;
        const std::runtime_error abandoned(
            "a child of the scope was destroyed unfinished, with its execution context");
        state_->child_ended(*child_, std::make_exception_ptr(abandoned));
    }

    cancellation_slot_type get_cancellation_slot() const noexcept { return child_->signal.slot(); }

    void operator()(const std::exception_ptr& failure) {
        std::exchange(state_, nullptr)->child_ended(*child_, failure);
    }

  private:
    std::shared_ptr<detail::scope_state> state_;
    std::shared_ptr<child> child_;
};

}  // namespace

namespace detail {

void scope_state::spawn(const asio::any_io_executor& executor, asio::awaitable<void> work) {
    const auto created = std::make_shared<child>(executor);
    {
        const std::lock_guard lock(mutex_);
        ++running_;
    }
    asio::co_spawn(executor, guarded(created, std::move(work)),
                   child_end(shared_from_this(), created));
    bool cancelled = false;
    {
        const std::lock_guard lock(mutex_);
        if (created->ended)
            return;
        created->place = children_.insert(children_.end(), created);
        cancelled = cancelled_;
    }
    if (cancelled)
        cancel_child(created);
}

void scope_state::cancel(bool expected) {
    std::vector<std::shared_ptr<child>> targets;
    {
        const std::lock_guard lock(mutex_);
        end_expected_ = end_expected_ || expected;
        targets = begin_cancel();
    }
    for (const auto& target : targets)
        cancel_child(target);
}

void scope_state::fail(std::exception_ptr failure) {
    {
        const std::lock_guard lock(mutex_);
        if (!failure_)
            failure_ = std::move(failure);
    }
    cancel(false);
}

void scope_state::child_ended(child& which, std::exception_ptr failure) {
    if (!failure)
        failure = std::exchange(which.failure, nullptr);
    const bool aborted = failure && is_cancellation(failure);
    std::vector<std::shared_ptr<child>> targets;
    std::unique_ptr<waiting_parent> joined;
    {
        const std::lock_guard lock(mutex_);
        which.ended = true;
        if (which.place)
            children_.erase(*std::exchange(which.place, std::nullopt));
        if (failure && !failure_ && !(aborted && end_expected_)) {
            failure_ = std::move(failure);
            targets = begin_cancel();
        }
        if (--running_ == 0)
            joined = std::move(parent_);
    }
    for (const auto& target : targets)
        cancel_child(target);
    failure = nullptr;
    if (joined)
        joined->resume(executor_, outcome(std::move(failure_)));
}

void scope_state::join(std::unique_ptr<waiting_parent> parent, asio::cancellation_slot slot) {
    if (slot.is_connected()) {
        slot.assign(
            [state = shared_from_this()](asio::cancellation_type) { state->cancel(false); });
    }
    {
        const std::lock_guard lock(mutex_);
        if (running_ > 0) {
            parent_ = std::move(parent);
            return;
        }
    }
    parent->resume(executor_, outcome(std::move(failure_)));
}

static asio::awaitable<outcome> join(const std::shared_ptr<scope_state>& state) {
    const auto initiate = [state]<typename Handler>(Handler handler) {
        const auto keep_alive = state;  // the lambda may end once the handler is on its way
        const auto slot = asio::get_associated_cancellation_slot(handler);
        keep_alive->join(std::make_unique<waiting_parent_of<Handler>>(std::move(handler)), slot);
    };
    return asio::async_initiate<const asio::use_awaitable_t<>, void(outcome)>(initiate,
                                                                              asio::use_awaitable);
}

asio::awaitable<void> run_scope(body_reference body) {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    // The join must happen even when this coroutine is cancelled before it begins.
    const bool throws = co_await asio::this_coro::throw_if_cancelled();
    co_await asio::this_coro::throw_if_cancelled(false);
    const auto state = std::make_shared<scope_state>(executor);
    scope children(state);
    try {
        children.spawn(body(children));
    } catch (...) {
        state->fail(std::current_exception());
    }
    const asio::cancellation_state cancellation = co_await asio::this_coro::cancellation_state;
    if (cancellation.cancelled() != asio::cancellation_type::none)
        state->cancel(false);
    // The children may all be on other contexts; this one must not run out of work meanwhile.
    const auto work = asio::prefer(executor, asio::execution::outstanding_work.tracked);
    const outcome result = co_await join(state);
    co_await asio::this_coro::throw_if_cancelled(throws);
    result.rethrow();
}

}  // namespace detail

scope::scope(std::shared_ptr<detail::scope_state> state) noexcept : state_(std::move(state)) {}

void scope::spawn(asio::awaitable<void> child) {
    state_->spawn(state_->executor(), std::move(child));
}

void scope::spawn(const executor_type& executor, asio::awaitable<void> child) {
    state_->spawn(executor, std::move(child));
}

void scope::cancel() {
    state_->cancel(true);
}

scope::executor_type scope::get_executor() const noexcept {
    return state_->executor();
}

}  // namespace stoker
