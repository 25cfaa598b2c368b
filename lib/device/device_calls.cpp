#include "device/device_calls.hpp"

#include <stoker/core/error.hpp>

namespace stoker::detail {

void device_calls::fail(int code, const char* call, const std::string& purpose) const {
    static_cast<void>(table().take_last_error());
    error_details details;
    details.code = means_no_device(code) ? errc::no_device : errc::device_failed;
    details.text = std::string(call) + " failed on " + target_.name();
    if (!purpose.empty())
        details.text += " for " + purpose;
    details.text += ": " + std::string(table().error_text(code)) + " (" + table().error_name(code) +
                    ", " + std::to_string(code) + ')';
    if (code == cuda_code::out_of_memory) {
        details.remedy =
            "lower batch_size or the feed's depth, or find out what else holds the device's memory "
            "(nvidia-smi)";
    }
    throw error(std::move(details));
}

cuda_event device_calls::make_event(bool for_threads) const {
    cuda_event made = nullptr;
    // Without timing is the fast kind for streams; blocking lets a thread sleep and not spin.
    const unsigned flags =
        cuda_flag::event_disable_timing | (for_threads ? cuda_flag::event_blocking_sync : 0U);
    check(table().create_event(&made, flags), "cudaEventCreateWithFlags");
    return made;
}

cuda_stream device_calls::make_stream(int priority) const {
    cuda_stream made = nullptr;
    check(table().create_stream(&made, cuda_flag::stream_non_blocking, priority),
          "cudaStreamCreateWithPriority");
    return made;
}

device_scope::device_scope(const device_calls& calls) noexcept : calls_(calls) {
    if (calls_.synchronous())
        return;
    if (calls_.table().get_device(&ordinal_before_) != cuda_code::success)
        ordinal_before_ = -1;
    if (ordinal_before_ != calls_.target().ordinal())
        static_cast<void>(calls_.table().set_device(calls_.target().ordinal()));
    static_cast<void>(calls_.table().exchange_capture_mode(&mode_before_));
}

device_scope::~device_scope() {
    if (calls_.synchronous())
        return;
    static_cast<void>(calls_.table().exchange_capture_mode(&mode_before_));
    if (ordinal_before_ >= 0 && ordinal_before_ != calls_.target().ordinal())
        static_cast<void>(calls_.table().set_device(ordinal_before_));
}

}  // namespace stoker::detail
