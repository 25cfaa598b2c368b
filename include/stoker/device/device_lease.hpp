#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <stoker/collate/column.hpp>
#include <stoker/core/index.hpp>

struct CUstream_st;  // what CUDA's cudaStream_t points to

namespace stoker {
class device;
}  // namespace stoker

namespace stoker::detail {

class feed_core;

/// What is known of the batch in an output buffer of a feed.
struct device_record {
    std::byte* data = nullptr;  ///< the device's memory
    std::uint64_t bytes = 0;
    std::vector<column_record> records{};
    std::vector<index> indices{};
    std::uint64_t epoch = 0;
    std::uint64_t number = 0;
};

/// Holds one output buffer. Owns a share of the feed's device side, so it may outlive the feed.
///
/// Thread safety: distinct leases may be used and destroyed on any threads.
class device_lease {
  public:
    device_lease() = default;
    device_lease(std::shared_ptr<feed_core> core, std::size_t output,
                 const device_record& record) noexcept
        : core_(std::move(core)), output_(output), record_(&record) {}
    device_lease(device_lease&& other) noexcept
        : core_(std::move(other.core_)),
          output_(other.output_),
          record_(std::exchange(other.record_, nullptr)) {}
    device_lease& operator=(device_lease&& other) noexcept {
        if (this != &other) {
            give_back();
            core_ = std::move(other.core_);
            output_ = other.output_;
            record_ = std::exchange(other.record_, nullptr);
        }
        return *this;
    }
    ~device_lease() { give_back(); }

    explicit operator bool() const noexcept { return record_ != nullptr; }
    const device_record& record() const noexcept { return *record_; }
    /// The stream waits for the batch, and is remembered. Throws.
    void use_on(CUstream_st* stream);
    /// It is read on streams that are not told: at the release the whole device is waited for.
    void use_unordered() noexcept;
    const device& target() const noexcept;
    /// Records consumption on each remembered stream and gives the buffer back. Throws
    /// error{stream_captured}, and holds it still.
    void release();

  private:
    void give_back() noexcept;

    std::shared_ptr<feed_core> core_{};
    std::size_t output_ = 0;
    const device_record* record_ = nullptr;
};

}  // namespace stoker::detail
