#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>

#include <stoker/device/feed_engine.hpp>
#include "core/descriptor.hpp"
#include "device/feed_core.hpp"

namespace stoker::detail {

/// What a feed has sent ahead, in order: batches, errors in the place of batches, ends of epochs.
///
/// Thread safety: one thread at a time.
class feed_engine::queue {
  public:
    queue(std::shared_ptr<engine> loader, std::shared_ptr<feed_core> core);

    /// What the next batch hangs on.
    enum class need {
        nothing,  ///< `take` it
        host,     ///< a batch of the loader's
        room,     ///< a buffer of the device's
    };
    /// Throws what the device failed of.
    need look();
    /// The loader's answer: a batch, or an empty lease for the end of its epoch.
    void add(lease batch);
    void add_failure(std::exception_ptr failure);
    /// The next batch, an empty one at the end of an epoch; throws what failed in its place. Then
    /// sends ahead what the loader has ready.
    device_lease take();

    // Waiting for room: want_room → look → wait for the descriptor → awoken.
    void want_room();
    int wait_descriptor() const { return wait_set_.get(); }
    /// Throws error{no_free_slot} when the time is up.
    void awoken();

    void restart();
    void restart(std::uint64_t epoch);
    void close() noexcept;
    feed_core& core() { return *core_; }
    const feed_core& core() const { return *core_; }

    bool pending = false;  ///< an operation of the engine waits

  private:
    struct entry {
        device_lease batch{};
        std::exception_ptr failure{};
    };
    void submit(lease& batch);
    void send_ahead();
    void forget();
    void end_wait();
    std::chrono::milliseconds patience() const;

    std::shared_ptr<engine> loader_;
    std::shared_ptr<feed_core> core_;
    std::deque<entry> entries_;
    lease parked_;            ///< has to wait for a bounce buffer
    bool delivered_ = false;  ///< a batch of the current epoch was taken
    bool closed_ = false;
    bool waiting_ = false;  ///< for room
    descriptor timer_;
    descriptor wait_set_;
};

}  // namespace stoker::detail
