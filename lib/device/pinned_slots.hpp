#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include <stoker/device/feed_stats.hpp>
#include <stoker/loader/engine.hpp>
#include "device/device_calls.hpp"

namespace stoker::detail {

/// Tells the user something; may be empty.
using notice = std::function<void(std::string_view)>;

/// A loader's slots, pinned for one device: the known prefix of each is registered, once, by
/// itself, since no copy may span two registrations, and since registering what a slot might need
/// would populate it. Unregistered before the slots can be unmapped, of which it owns a share.
///
/// Thread safety: one thread at a time; `covers` from any.
class pinned_slots {
  public:
    /// All or none: where one slot cannot be registered, none stays so, and `refusal` says why.
    pinned_slots(const device_calls& calls, const engine& loader, bool wanted);
    pinned_slots(const pinned_slots&) = delete;
    pinned_slots& operator=(const pinned_slots&) = delete;
    ~pinned_slots();

    const slot_memory& slots() const noexcept { return slots_; }
    bool any() const noexcept { return !registered_.empty(); }
    std::uint64_t bytes() const noexcept { return registered_.size() * slots_.known_prefix; }
    /// Whether a batch of so many bytes lies within its slot's registration.
    bool covers(std::uint64_t data_bytes) const noexcept {
        return any() && slots_.data_offset + data_bytes <= slots_.known_prefix;
    }
    /// Why nothing is registered: a call's failure; empty: nothing was tried, or it went well.
    const std::string& refusal() const noexcept { return refusal_; }

  private:
    void unregister() noexcept;

    const device_calls& calls_;
    slot_memory slots_;
    std::vector<std::byte*> registered_;
    std::string refusal_;
};

}  // namespace stoker::detail
