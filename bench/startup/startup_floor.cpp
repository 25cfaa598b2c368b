// What plain forks of this process cost, which is no lower bound: as many as there are workers,
// each of which writes one byte into a pipe, and the first byte read. data128mib holds as much
// touched memory as the other arms, whose page tables each fork copies.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <vector>

#include "startup/held_data.hpp"
#include "support/measurement.hpp"

int main(int argc, char** argv) {
    const bench::arguments arguments({argv, static_cast<std::size_t>(argc)});
    const bench::startup_case start(arguments.test_case);
    const bench::held_data data(start.held_bytes);
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0)
        bench::fail("cannot make a pipe");
    std::vector<pid_t> children;
    children.reserve(static_cast<std::size_t>(start.workers));

    const auto begin = bench::clock::now();
    for (int worker = 0; worker < start.workers; ++worker) {
        const auto child = ::fork();
        if (child < 0)
            bench::fail("cannot fork");
        if (child == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            const auto byte = static_cast<char>(data.get(0).words.front());
            (void)!::write(ends[1], &byte, 1);
            ::pause();
            ::_exit(0);
        }
        children.push_back(child);
    }
    char byte = 0;
    if (::read(ends[0], &byte, 1) != 1)
        bench::fail("floor: pipe");
    bench::report("first_batch_ms", bench::seconds_since(begin) * 1e3, "ms");

    for (const auto child : children)
        ::kill(child, SIGKILL);
    for (const auto child : children)
        ::waitpid(child, nullptr, 0);
}
