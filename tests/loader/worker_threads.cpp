// Threads and processors of workers. Built with OpenMP where the compiler has it.

#include <sched.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <ostream>
#include <string>

#ifdef _OPENMP
#include <omp.h>
#endif

#include <stoker/stoker.hpp>
#include "support/catch.hpp"
#include "support/run_child.hpp"

using namespace stoker;
using test_support::run_child;

namespace {

struct sighting {
    std::int64_t variable = -1;    ///< OMP_NUM_THREADS; -1: not set
    std::int64_t pool = -1;        ///< threads of a parallel region; -1: without OpenMP
    std::int64_t processors = -1;  ///< in the affinity mask
};

std::int64_t threads_of_a_region() {
    int threads = -1;
#ifdef _OPENMP
#pragma omp parallel
    {
#pragma omp single
        threads = omp_get_num_threads();
    }
#endif
    return threads;
}

std::int64_t processors() {
    cpu_set_t mask;
    return ::sched_getaffinity(0, sizeof mask, &mask) == 0 ? CPU_COUNT(&mask) : -1;
}

/// What a worker sees of itself.
struct sightings {
    std::size_t size() const { return 1; }
    sighting get(stoker::index) const {
        const char* text = std::getenv("OMP_NUM_THREADS");
        return {text == nullptr ? -1 : std::atoi(text), threads_of_a_region(), processors()};
    }
};

sighting seen_in_a_worker(loader_options options) {
    options.num_workers = 1;
    options.timeout = std::chrono::seconds(15);
    loader source{sightings{}, options};
    const auto batch = source.next_blocking();
    const auto [variable, pool, count] = batch.columns();
    return {variable(0), pool(0), count(0)};
}

}  // namespace

TEST_CASE("pools inside workers have one thread each unless an option says otherwise",
          "[loader][B168]") {
    for (const int threads : {1, 2, 0}) {
        const auto outcome = run_child([threads](std::ostream& out) {
            ::setenv("OMP_NUM_THREADS", "7", 1);
#ifdef _OPENMP
            omp_set_num_threads(3);  // in main alone; the variable was read before main
#endif
            loader_options options{};
            options.worker_threads = threads;
            const sighting seen = seen_in_a_worker(options);
            out << seen.variable << ' ' << seen.pool << ' ' << std::getenv("OMP_NUM_THREADS");
            return 0;
        });
#ifdef _OPENMP
        const int pool = threads == 0 ? 3 : threads;
#else
        const int pool = -1;
#endif
        CHECK(outcome.text ==
              std::to_string(threads == 0 ? 7 : threads) + ' ' + std::to_string(pool) + " 7");
    }
    CHECK(loader_options{}.worker_threads == 1);
}

TEST_CASE("worker_threads out of range is refused by name", "[loader]") {
    CHECK_THROWS_WITH(
        (loader{sightings{}, {.worker_threads = -1}}),
        Catch::Matchers::ContainsSubstring("worker_threads is -1, it must be from 0 to 4096"));
}

#ifdef _OPENMP
// The threads of a pool are not copied by a fork, and a parallel region of more than one thread
// waits for them for ever.
TEST_CASE("workers of a process with an OpenMP pool do not wait for its threads",
          "[loader][B164]") {
    const auto outcome = run_child([](std::ostream& out) {
        omp_set_num_threads(3);
        out << threads_of_a_region();
        out << ' ' << seen_in_a_worker({.fork_with_threads = true}).pool;
        return 0;
    });
    CHECK(outcome.text == "3 1");
}
#endif

TEST_CASE("workers inherit the affinity mask unchanged", "[loader][B168]") {
    const auto outcome = run_child([](std::ostream& out) {
        cpu_set_t all;
        if (::sched_getaffinity(0, sizeof all, &all) != 0)
            return 1;
        const auto before = processors();
        out << (seen_in_a_worker({}).processors == before);
        cpu_set_t one;
        CPU_ZERO(&one);
        for (int number = 0; number < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++number) {
            if (CPU_ISSET(number, &all))
                CPU_SET(number, &one);
        }
        ::sched_setaffinity(0, sizeof one, &one);
        out << seen_in_a_worker({}).processors;
        return 0;
    });
    CHECK(outcome.text == "11");
}
