// expect: stoker: fork_server::dataset: the factory cannot be called with these arguments
#include <stoker/worker/fork_server.hpp>
#include <string>
#include <vector>

auto digits(const stoker::fork_server& forks) {
#ifdef CONTROL
    return forks.dataset([](std::string path) { return std::vector<char>(path.size()); }, "a");
#else
    return forks.dataset([](std::string path) { return std::vector<char>(path.size()); }, 1);
#endif
}
