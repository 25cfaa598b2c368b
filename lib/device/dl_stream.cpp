#include <stoker/device/dl_stream.hpp>

#include <string>

#include <stoker/core/error.hpp>
#include "device/cuda_table.hpp"

namespace stoker {

dl_stream dl_stream::numbered(std::optional<std::int64_t> number) {
    const std::int64_t which = number.value_or(1);
    if (which == -1)
        return unordered();
    if (which == 1)
        return detail::legacy_stream();
    if (which == 2)
        return detail::per_thread_stream();
    if (which > 2)
        return reinterpret_cast<CUstream_st*>(static_cast<std::uintptr_t>(which));
    throw error({.code = errc::invalid_option,
                 .text = "DLPack: stream " + std::to_string(which) + " is none",
                 .remedy = "none or 1 is the legacy default stream, 2 the per-thread one, above 2 "
                           "a cudaStream_t, −1 none at all"});
}

}  // namespace stoker
