// One part of the check of a GPU host; the script `run` runs them all. See bench/README.md.

#include <cstdio>
#include <exception>
#include <span>

#include "gpu_check/machine.hpp"

namespace gpu_check {

void check_host(const request& given) {
    const machine here(given);
    int driver = 0;
    int runtime = 0;
    int devices = 0;
    here.check(here.table().driver_version(&driver), "cudaDriverGetVersion");
    here.check(here.table().runtime_version(&runtime), "cudaRuntimeGetVersion");
    here.check(here.table().device_count(&devices), "cudaGetDeviceCount");
    std::printf("%s: driver for CUDA %d.%d, runtime %d.%d, %d devices\n",
                here.target().name().c_str(), driver / 1000, driver % 1000 / 10, runtime / 1000,
                runtime % 1000 / 10, devices);
}

}  // namespace gpu_check

namespace {

bool run_part(const gpu_check::request& given) {
    if (given.part == "host")
        gpu_check::check_host(given);
    else if (given.part == "copies")
        gpu_check::check_copies(given);
    else if (given.part == "kernels")
        gpu_check::check_kernels(given);
    else if (given.part == "overlap")
        gpu_check::check_overlap(given, false);
    else if (given.part == "serial")
        gpu_check::check_overlap(given, true);
    else if (given.part == "reuse")
        gpu_check::check_reuse(given);
    else if (given.part == "waits")
        gpu_check::check_waits(given);
    else
        return false;
    return true;
}

}  // namespace

int main(int count, char** words) {
    gpu_check::request given;
    for (int i = 1; i < count; ++i) {
        const std::string_view word = words[i];
        if (word == "--quick")
            given.quick = true;
        else if (word == "--table" && i + 1 < count)
            given.table = words[++i];
        else
            given.part = word;
    }
    const bool known = given.table == "real" || given.table == "simulated" || given.table == "host";
    try {
        if (known && run_part(given))
            return 0;
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "gpu_check %s: %s\n", std::string(given.part).c_str(), failure.what());
        return 1;
    }
    std::fprintf(stderr,
                 "usage: gpu_check host|copies|kernels|overlap|serial|reuse|waits "
                 "[--table real|simulated|host] [--quick]\n");
    return 2;
}
