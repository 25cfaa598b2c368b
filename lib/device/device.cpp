#include <stoker/device/device.hpp>

#include <unistd.h>

#include <atomic>

#include <stoker/core/error.hpp>
#include "device/cuda_table.hpp"
#include "worker/process.hpp"

namespace stoker {

namespace {

/// The process that used CUDA first; no child of it can.
std::atomic<pid_t> cuda_process{0};

[[noreturn]] void refuse(std::string text, std::string remedy = {}) {
    error_details details;
    details.code = errc::no_device;
    details.text = std::move(text);
    details.remedy = std::move(remedy);
    throw error(std::move(details));
}

[[noreturn]] void refuse_fork(const std::string& what) {
    refuse(
        what + " cannot be used in process " + std::to_string(::getpid()) +
            ": CUDA does not survive a fork, and workers never call it",
        "let datasets make batches in host memory, and let a stoker::device_feed in the training "
        "process take them to the device");
}

std::string version_text(int version) {
    return std::to_string(version / 1000) + '.' + std::to_string(version % 1000 / 10);
}

/// "35 (cudaErrorInsufficientDriver): …; the driver supports CUDA 12.2, stoker was built
/// with 13.0".
std::string why_none(const detail::cuda_table& table, int code) {
    int driver = 0;
    int runtime = 0;
    static_cast<void>(table.driver_version(&driver));
    static_cast<void>(table.runtime_version(&runtime));
    std::string text = "no CUDA driver that works: ";
    text += table.error_text(code);
    text += " (" + std::string(table.error_name(code)) + ", " + std::to_string(code) + ')';
    if (runtime != 0) {
        text += driver == 0 ? "; no driver is installed"
                            : "; the driver supports CUDA " + version_text(driver);
        text += ", stoker was built with CUDA " + version_text(runtime);
    }
    return text;
}

}  // namespace

device::device(const detail::cuda_table& table, int ordinal)
    : table_(&table), ordinal_(ordinal), process_(::getpid()) {}

std::string device::name() const {
    return is_host() ? table_->kind
                     : std::string(table_->kind) + " device " + std::to_string(ordinal_);
}

bool device::is_host() const noexcept {
    return table_->synchronous;
}

void device::require_own_process() const {
    if (!is_host() && ::getpid() != process_)
        refuse_fork(name());
}

device cuda_device(int ordinal) {
    const detail::cuda_table& table = detail::real_cuda_table();
    pid_t first = 0;
    cuda_process.compare_exchange_strong(first, ::getpid());
    if (detail::is_forked_by_stoker() || (first != 0 && first != ::getpid()))
        refuse_fork("CUDA device " + std::to_string(ordinal));
    int count = 0;
    const int code = table.device_count(&count);
    if (code != detail::cuda_code::success) {
        static_cast<void>(table.take_last_error());
        refuse(why_none(table, code));
    }
    if (ordinal < 0 || ordinal >= count) {
        refuse("CUDA device " + std::to_string(ordinal) + " was asked for, there are " +
               std::to_string(count));
    }
    return device(table, ordinal);
}

int cuda_device_count() noexcept {
    int count = 0;
    const detail::cuda_table& table = detail::real_cuda_table();
    if (detail::is_forked_by_stoker() || table.device_count(&count) != detail::cuda_code::success)
        return 0;
    return count;
}

device host_device() {
    return device(detail::host_table(), 0);
}

}  // namespace stoker
