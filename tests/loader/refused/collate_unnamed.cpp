// expect: stoker: a loader with a stoker::collate is a loader<Dataset, Batch>
#include <span>
#include <stoker/loader/loader.hpp>
#include <vector>

struct numbers {
    stoker::tensor<int, stoker::dynamic> values;
};
void sum(std::span<const int>, stoker::writer<numbers>&);
void make() {
#ifdef CONTROL
    using loader_type = stoker::loader<std::vector<int>, numbers>;
#else
    using loader_type = stoker::loader<std::vector<int>>;
#endif
    loader_type loader{std::vector<int>(3), {}, stoker::collate{sum}};
}
