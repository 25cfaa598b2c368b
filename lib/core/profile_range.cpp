// Ranges by NVTX, whose headers load a profiler's library when the first of them begins, and are
// all there is to it where no profiler asks for that. So nothing begins before a loader's fork.

#include "core/profile_range.hpp"

#include <nvtx3/nvToolsExt.h>

namespace stoker::detail {

namespace {

nvtxDomainHandle_t domain() noexcept {
    static const nvtxDomainHandle_t made = nvtxDomainCreateA("stoker");
    return made;
}

}  // namespace

std::uint64_t profile_range::begin(const char* name, std::uint64_t payload) noexcept {
    nvtxEventAttributes_t attributes{};
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
    attributes.message.ascii = name;
    attributes.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
    attributes.payload.ullValue = payload;
    return nvtxDomainRangeStartEx(domain(), &attributes);
}

void profile_range::end(std::uint64_t id) noexcept {
    nvtxDomainRangeEnd(domain(), id);
}

}  // namespace stoker::detail
