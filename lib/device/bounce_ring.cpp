#include "device/bounce_ring.hpp"

#include <algorithm>

#include <stoker/core/error.hpp>

namespace stoker::detail {

bounce_ring::bounce_ring(const device_calls& calls, std::size_t buffers)
    : calls_(calls), buffers_(buffers) {}

bounce_ring::~bounce_ring() {
    for (piece& buffer : buffers_)
        drop(buffer);
}

void bounce_ring::drop(piece& buffer) noexcept {
    if (buffer.memory == nullptr)
        return;
    static_cast<void>(calls_.table().deallocate_host(buffer.memory));
    bytes_ -= buffer.bytes;
    buffer.memory = nullptr;
    buffer.bytes = 0;
}

bool bounce_ring::resize(piece& buffer, std::uint64_t bytes) {
    drop(buffer);
    void* made = nullptr;
    const int code = calls_.table().allocate_host(&made, bytes, cuda_flag::host_portable);
    if (code != cuda_code::success) {
        try {
            calls_.fail(code, "cudaHostAlloc", std::to_string(bytes) + " bytes");
        } catch (const error& failure) {
            refusal_ = failure.text();
        }
        return false;
    }
    buffer.memory = static_cast<std::byte*>(made);
    buffer.bytes = bytes;
    bytes_ += bytes;
    return true;
}

bool bounce_ring::allocate(std::uint64_t bytes) {
    if (bytes == 0)
        return true;  // nothing is known: made when the first batch is there
    if (std::ranges::all_of(buffers_, [&](piece& buffer) { return resize(buffer, bytes); }))
        return true;
    for (piece& buffer : buffers_)
        drop(buffer);
    return false;
}

int bounce_ring::acquire() {
    const std::scoped_lock lock(lock_);
    for (std::size_t number = 0; number < buffers_.size(); ++number) {
        if (!buffers_[number].busy) {
            buffers_[number].busy = true;
            return static_cast<int>(number);
        }
    }
    return -1;
}

bool bounce_ring::any_free() {
    const std::scoped_lock lock(lock_);
    return std::ranges::any_of(buffers_, [](const piece& buffer) { return !buffer.busy; });
}

std::byte* bounce_ring::memory(int buffer, std::uint64_t bytes) {
    piece& found = buffers_[static_cast<std::size_t>(buffer)];
    if (found.bytes < bytes && !resize(found, bytes + bytes / 2))
        return nullptr;
    return found.memory;
}

void bounce_ring::give_back(int buffer) noexcept {
    const std::scoped_lock lock(lock_);
    buffers_[static_cast<std::size_t>(buffer)].busy = false;
}

}  // namespace stoker::detail
