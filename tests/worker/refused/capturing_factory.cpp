// expect: stoker: fork_server::dataset needs a lambda without captures, or a function
#include <stoker/worker/fork_server.hpp>
#include <vector>

auto digits(const stoker::fork_server& forks, int count) {
#ifdef CONTROL
    return forks.dataset([](int number) { return std::vector<int>(number); }, count);
#else
    return forks.dataset([count] { return std::vector<int>(count); });
#endif
}
