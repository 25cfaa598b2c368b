// expect: stoker: a collate cannot reach a dataset that a fork_server builds
#include <span>
#include <stoker/loader/loader.hpp>
#include <utility>
#include <vector>

struct numbers {
    stoker::tensor<int, stoker::dynamic> values;
};
void sum(std::span<const int>, stoker::writer<numbers>&);
void make(stoker::forked_dataset<std::vector<int>> dataset) {
#ifdef CONTROL
    stoker::loader loader{std::move(dataset), {}};
#else
    stoker::loader loader{std::move(dataset), {}, stoker::collate{sum}};
#endif
}
