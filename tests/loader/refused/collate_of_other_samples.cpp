// expect: stoker: a collate's function takes (std::span<const Sample>, stoker::writer<Batch>&)
#include <span>
#include <stoker/loader/loader.hpp>
#include <vector>

struct numbers {
    stoker::tensor<int, stoker::dynamic> values;
};
#ifdef CONTROL
using sample = int;
#else
using sample = float;
#endif
void sum(std::span<const sample>, stoker::writer<numbers>&);
void make() {
    stoker::loader loader{std::vector<int>(3), {}, stoker::collate{sum}};
}
