// expect: stoker: the members of a collate's batch struct are stoker::tensor<T, extents…>
#include <span>
#include <stoker/loader/loader.hpp>
#include <vector>

struct numbers {
    stoker::tensor<int, stoker::dynamic> values;
#ifdef CONTROL
    stoker::tensor<float, 1> mean;
#else
    float mean;
#endif
};
void sum(std::span<const int>, stoker::writer<numbers>&);
void make() {
    stoker::loader loader{std::vector<int>(3), {}, stoker::collate{sum}};
}
