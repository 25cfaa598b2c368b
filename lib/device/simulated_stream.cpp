#include "device/simulated_stream.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <utility>

namespace stoker::detail {

namespace {

thread_local bool on_a_stream = false;

}  // namespace

void simulated_counter::add_one() noexcept {
    value_.fetch_add(1, std::memory_order_release);
    ::syscall(SYS_futex, &value_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

void simulated_counter::wait_beyond(std::uint32_t seen) const noexcept {
    while (value() == seen)
        ::syscall(SYS_futex, &value_, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
}

simulated_stream::simulated_stream(int ordinal, std::uint64_t seed,
                                   std::chrono::microseconds longest_delay)
    : ordinal_(ordinal),
      random_(static_cast<std::minstd_rand::result_type>(seed % 2147483646 + 1)),
      longest_delay_(longest_delay),
      last_(new node),
      first_(last_),
      thread_([this] { run(); }) {}

simulated_stream::~simulated_stream() {
    push({});
    thread_.join();
    delete first_;
}

bool simulated_stream::is_here() noexcept {
    return on_a_stream;
}

void simulated_stream::push(std::function<void()> work) {
    auto* const added = new node;
    added->work = std::move(work);
    const std::scoped_lock lock(pushing_);
    last_->next.store(added, std::memory_order_release);
    last_ = added;
    pushed_.add_one();
}

void simulated_stream::push_late(std::function<void()> work) {
    push([this, run = std::move(work)] {
        sleep_at_random();
        run();
    });
}

void simulated_stream::sleep_at_random() {
    if (longest_delay_.count() <= 0)
        return;
    std::uniform_int_distribution<std::int64_t> delay(0, longest_delay_.count());
    std::this_thread::sleep_for(std::chrono::microseconds(delay(random_)));
}

void simulated_stream::run() {
    on_a_stream = true;
    for (std::uint32_t done = 0;; ++done) {
        pushed_.wait_beyond(done);
        node* const next = first_->next.load(std::memory_order_acquire);
        delete std::exchange(first_, next);
        if (!next->work)
            return;
        next->work();
        next->work = nullptr;
    }
}

}  // namespace stoker::detail
