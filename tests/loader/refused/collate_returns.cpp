// expect: stoker: a collate's function returns void
#include <span>
#include <stoker/loader/loader.hpp>
#include <vector>

struct numbers {
    stoker::tensor<int, stoker::dynamic> values;
};
#ifdef CONTROL
using result = void;
#else
using result = numbers;
#endif
result sum(std::span<const int>, stoker::writer<numbers>&);
void make() {
    stoker::loader loader{std::vector<int>(3), {}, stoker::collate{sum}};
}
