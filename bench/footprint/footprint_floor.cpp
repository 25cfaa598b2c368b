// The least that a worker can occupy: a bare fork of a process that holds the same dataset, at
// rest.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "support/measurement.hpp"
#include "support/memory_of.hpp"
#include "support/samples.hpp"

int main() {
    constexpr std::size_t workers = 4;
    const auto pool = bench::small_pool();
    std::array<pid_t, workers> children{};
    for (auto& child : children) {
        child = ::fork();
        if (child < 0)
            bench::fail("cannot fork");
        if (child == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            ::pause();
            ::_exit(pool.matches(0, pool.sample(0)) ? 0 : 1);
        }
    }
    ::usleep(100'000);
    double own = 0;
    double page_tables = 0;
    for (const auto child : children) {
        const auto share = bench::memory_of(child);
        own += share.own_mb / workers;
        page_tables += share.page_tables_mb / workers;
    }
    for (const auto child : children)
        ::kill(child, SIGKILL);
    for (const auto child : children)
        ::waitpid(child, nullptr, 0);
    bench::report("worker_own_mb", own, "MB");
    bench::report("worker_page_tables_mb", page_tables, "MB");
}
