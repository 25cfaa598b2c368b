// Eight workers whose image library starts a thread for each of 64 cores are 512 threads that fight
// for those cores. Libraries size their pools by variables of the environment, which most of them
// read when the pool is made, hence in the worker. OpenMP's read it when they are loaded, which a
// program that links them does before main: they have to be told by a call.
//
// The call is looked up instead of linked, since a program without OpenMP has none of it. OpenBLAS
// and MKL have calls as well, but the one of OpenBLAS begins by starting its threads anew.

#include "worker/thread_cap.hpp"

#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <string>

namespace stoker::detail {
namespace {

constexpr std::array variables{
    "OMP_NUM_THREADS",     "OPENBLAS_NUM_THREADS",   "MKL_NUM_THREADS",        "BLIS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "OPENCV_FOR_THREADS_NUM", "RAYON_NUM_THREADS",
};

}  // namespace

void cap_threads(int threads) noexcept {
    if (threads <= 0)
        return;
    try {
        const std::string text = std::to_string(threads);
        for (const char* name : variables)
            ::setenv(name, text.c_str(), 1);
    } catch (...) {  // no memory: what follows will say so
    }
    if (void* const found = ::dlsym(RTLD_DEFAULT, "omp_set_num_threads"))
        reinterpret_cast<void (*)(int)>(found)(threads);
}

}  // namespace stoker::detail
