#include "worker/thread_cap.hpp"

#include <cstdlib>
#include <ostream>
#include <string>

#include "support/catch.hpp"
#include "support/run_child.hpp"

using stoker::detail::cap_threads;
using stoker::test_support::run_child;

namespace {

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "unset" : value;
}

}  // namespace

TEST_CASE("a cap goes to the variables that libraries read, over what was there", "[worker]") {
    const auto outcome = run_child([](std::ostream& out) {
        ::setenv("OMP_NUM_THREADS", "16", 1);
        ::unsetenv("MKL_NUM_THREADS");
        cap_threads(3);
        out << variable("OMP_NUM_THREADS") << ' ' << variable("OPENBLAS_NUM_THREADS") << ' '
            << variable("MKL_NUM_THREADS") << ' ' << variable("NUMEXPR_NUM_THREADS") << ' '
            << variable("OPENCV_FOR_THREADS_NUM");
        return 0;
    });
    CHECK(outcome.text == "3 3 3 3 3");
}

TEST_CASE("a cap of 0 leaves the environment alone", "[worker]") {
    const auto outcome = run_child([](std::ostream& out) {
        ::setenv("OMP_NUM_THREADS", "16", 1);
        ::unsetenv("MKL_NUM_THREADS");
        cap_threads(0);
        out << variable("OMP_NUM_THREADS") << ' ' << variable("MKL_NUM_THREADS");
        return 0;
    });
    CHECK(outcome.text == "16 unset");
}
