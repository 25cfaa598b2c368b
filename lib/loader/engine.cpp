// `next()` as a composed operation. Its shape follows from four promises:
//
//   never inside the initiating call   it begins with a post to the awaiting side's executor
//   a cancelled call has taken nothing the batch is taken in the same step that completes
//   descriptors only while waiting     the one descriptor is bound to the operation's executor for
//                                      each wait and released after it, so that one loader works on
//                                      any executor, one after the other, and an idle loader keeps
//                                      no io_context running
//   nothing outlives its memory        the operation owns a share of the engine; the bound
//                                      descriptor lives in the engine, and the operation's own
//                                      destructor unbinds it, also when an io_context is destroyed

#include <stoker/loader/engine.hpp>

#include <optional>
#include <typeinfo>
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
#include "loader/machine.hpp"

namespace stoker::detail {

namespace asio = boost::asio;

struct engine::waiter {
    std::optional<asio::posix::stream_descriptor> bound{};
};

namespace {

template <class Waiter>
struct unbind {
    void operator()(Waiter* waiter) const noexcept {
        boost::system::error_code ignored;
        waiter->bound->cancel(ignored);
        waiter->bound->release();
        waiter->bound.reset();
    }
};

/// The error in flight with the loader's name, so that it tells which of several loaders failed.
/// Only inside a handler.
std::exception_ptr named(const std::string& loader) {
    if (loader.empty())
        return std::current_exception();
    try {
        throw;
    } catch (const error& failure) {
        if (typeid(failure) != typeid(error))
            return std::current_exception();  // of a sampler's own kind, to be kept
        error_details details = failure.details();
        details.loader = loader;
        return std::make_exception_ptr(error(std::move(details)));
    } catch (...) {
        return std::current_exception();
    }
}

/// Does `work`; errors that leave it have the loader's name.
template <class Work>
decltype(auto) with_name(const std::string& loader, Work&& work) {
    try {
        return work();
    } catch (...) {
        std::rethrow_exception(named(loader));
    }
}

}  // namespace

/// Marks the engine as busy, until it is destroyed or moved from.
class engine::busy_mark {
  public:
    explicit busy_mark(std::shared_ptr<engine> owner) : owner_(std::move(owner)) {
        owner_->machine_->pending = true;
    }
    busy_mark(busy_mark&&) noexcept = default;
    busy_mark& operator=(busy_mark&&) = delete;
    ~busy_mark() { clear(); }
    void clear() noexcept {
        if (!owner_)
            return;
        owner_->machine_->pending = false;
        owner_->machine_->end_wait();
        owner_.reset();
    }

  private:
    std::shared_ptr<engine> owner_;
};

struct engine::next_operation {
    enum class step { start, refused, look, waited };

    std::shared_ptr<engine> owner;
    asio::any_io_executor executor;
    std::optional<busy_mark> mark{};
    std::unique_ptr<waiter, unbind<waiter>> binding{};
    step now = step::start;
    profile_range
        waiting{};  // for profilers: on another thread's time where the executor has several

    template <class Self>
    void operator()(Self& self, boost::system::error_code failure = {}) {
        machine& parts = *owner->machine_;
        if (now == step::start) {
            self.reset_cancellation_state(asio::enable_total_cancellation());
            if (parts.pending) {
                now = step::refused;
            } else {
                now = step::look;
                mark.emplace(owner);
            }
            const asio::any_io_executor target = executor;  // self takes this object along
            asio::post(target, std::move(self));
            return;
        }
        binding.reset();
        waiting.end();
        if (now == step::refused) {
            error_details details{};
            details.code = errc::busy;
            details.text = "next() was called while another one is pending";
            details.loader = parts.options().name;
            finish(self, std::make_exception_ptr(error(std::move(details))));
            return;
        }
        if (self.cancelled() != asio::cancellation_type::none) {
            finish(self, std::make_exception_ptr(
                             boost::system::system_error(asio::error::operation_aborted)));
            return;
        }
        if (failure) {
            finish(self, std::make_exception_ptr(boost::system::system_error(failure)));
            return;
        }
        look(self, parts);
    }

    template <class Self>
    void look(Self& self, machine& parts) {
        lease batch;
        try {
            if (now == step::waited && !parts.closed())
                parts.wake();
            if (parts.poll(batch) == outcome::pending && !parts.spin(batch)) {
                parts.arm();
                if (parts.poll(batch) == outcome::pending) {
                    now = step::waited;
                    wait(self);
                    return;
                }
            }
        } catch (...) {
            finish(self, named(parts.options().name));
            return;
        }
        finish(self, nullptr, std::move(batch));
    }

    template <class Self>
    void wait(Self& self) {
        auto& bound = owner->waiter_->bound;
        try {
            bound.emplace(executor, owner->machine_->wait_descriptor());
        } catch (...) {  // the executor's context has no descriptor or memory for it
            finish(self, named(owner->machine_->options().name));
            return;
        }
        waiting = profile_range("wait for batch", 0);
        binding.reset(owner->waiter_.get());
        bound->async_wait(asio::posix::stream_descriptor::wait_read, std::move(self));
    }

    template <class Self>
    void finish(Self& self, std::exception_ptr failure, lease batch = {}) {
        mark.reset();  // the handler may ask for the next one at once
        self.complete(std::move(failure), std::move(batch));
    }
};

engine::engine(std::unique_ptr<machine> parts)
    : machine_(std::move(parts)), waiter_(std::make_unique<waiter>()) {}

engine::~engine() = default;

std::shared_ptr<engine> engine::make(engine_parts parts) {
    const std::string name = parts.options.name;
    return with_name(name, [&] {
        return std::shared_ptr<engine>(new engine(std::make_unique<machine>(std::move(parts))));
    });
}

void engine::async_next(asio::any_io_executor executor, handler completion) {
    // Bound, since the erased handler's own executor would be boxed anew for each operation.
    auto bound = asio::bind_executor(executor, std::move(completion));
    next_operation operation{shared_from_this(), executor};
    asio::async_compose<decltype(bound), void(std::exception_ptr, lease)>(std::move(operation),
                                                                          bound, executor);
}

/// For the operations that must not run beside a `next()`.
void engine::refuse_when_pending() const {
    if (machine_->pending)
        throw error(errc::busy, "a next() is pending on this loader");
}

lease engine::next_blocking() {
    return with_name(options().name, [this] {
        refuse_when_pending();
        const busy_mark mark(shared_from_this());
        lease batch;
        while (machine_->poll(batch) == outcome::pending && !machine_->spin(batch)) {
            machine_->arm();
            if (machine_->poll(batch) != outcome::pending)
                break;
            const profile_range waiting("wait for batch", 0);
            system::wait_readable(machine_->wait_descriptor(), -1, "the next batch");
            machine_->wake();
        }
        return batch;
    });
}

outcome engine::try_next(lease& batch) {
    return with_name(options().name, [&] {
        refuse_when_pending();
        outcome result = machine_->poll(batch);
        if (result == outcome::pending) {
            machine_->glance();
            result = machine_->poll(batch);
        }
        return result;
    });
}

bool engine::ready() {
    return with_name(options().name, [this] {
        if (machine_->ready())
            return true;
        machine_->glance();
        return machine_->ready();
    });
}

void engine::restart() {
    with_name(options().name, [this] { machine_->restart(); });
}
void engine::restart(std::uint64_t epoch) {
    with_name(options().name, [&] { machine_->restart(epoch); });
}
std::uint64_t engine::size() const {
    return machine_->size();
}
std::optional<std::uint64_t> engine::length() const {
    return machine_->length();
}
const loader_options& engine::options() const {
    return machine_->options();
}
memory_use engine::memory() const {
    return machine_->memory();
}
std::vector<pid_t> engine::worker_processes() {
    return with_name(options().name, [this] { return machine_->worker_processes(); });
}
const skipped_samples& engine::skipped() const {
    return machine_->skipped();
}
pid_t engine::fork_server_process() const {
    return machine_->fork_server_process();
}
slot_memory engine::slots() const {
    return machine_->slots();
}
void engine::populate_slots() const {
    with_name(options().name, [this] { machine_->populate_slots(); });
}
void engine::close() noexcept {
    machine_->close();
}

}  // namespace stoker::detail
