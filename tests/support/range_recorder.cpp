// What NVTX_INJECTION64_PATH names: writes a line to $STOKER_RANGES for each range that begins or
// ends, in one write each, so that processes and threads may share the file.

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <nvtx3/nvToolsExt.h>

namespace {

int file = -1;
std::atomic<std::uint64_t> last_range{0};

void write_line(const char* what, std::uint64_t id, const char* name, std::uint64_t payload) {
    char line[160];
    const int length = std::snprintf(line, sizeof line, "%s %ld %ld %llu %llu %s\n", what,
                                     static_cast<long>(::getpid()), ::syscall(SYS_gettid),
                                     static_cast<unsigned long long>(id),
                                     static_cast<unsigned long long>(payload), name);
    static_cast<void>(!::write(file, line, static_cast<std::size_t>(length)));
}

nvtxDomainHandle_t NVTX_API create_domain(const char*) {
    static char domain = 0;
    return reinterpret_cast<nvtxDomainHandle_t>(&domain);
}

nvtxRangeId_t NVTX_API start_range(nvtxDomainHandle_t, const nvtxEventAttributes_t* given) {
    const std::uint64_t id = ++last_range;
    write_line("start", id, given->message.ascii, given->payload.ullValue);
    return id;
}

void NVTX_API end_range(nvtxDomainHandle_t, nvtxRangeId_t id) {
    write_line("end", id, "-", 0);
}

template <class Function>
void replace(NvtxFunctionTable table, unsigned size, unsigned number, Function* function) {
    if (number < size)
        *table[number] = reinterpret_cast<NvtxFunctionPointer>(function);
}

}  // namespace

extern "C" NVTX_DYNAMIC_EXPORT int NVTX_API
InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table) {
    const char* const path = std::getenv("STOKER_RANGES");
    if (path == nullptr)
        return 0;
    file = ::open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    const auto* const callbacks =
        static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
    NvtxFunctionTable table = nullptr;
    unsigned size = 0;
    if (file < 0 || callbacks == nullptr ||
        callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 0)
        return 0;
    replace(table, size, NVTX_CBID_CORE2_DomainCreateA, create_domain);
    replace(table, size, NVTX_CBID_CORE2_DomainRangeStartEx, start_range);
    replace(table, size, NVTX_CBID_CORE2_DomainRangeEnd, end_range);
    return 1;
}
