// expect: stoker: shape() takes one extent for each axis of the member
#include <stoker/collate/writer.hpp>

struct numbers {
    stoker::tensor<int, stoker::dynamic, stoker::dynamic> values;
};
void collate(stoker::writer<numbers>& out) {
#ifdef CONTROL
    out.shape(&numbers::values, 3, 4);
#else
    out.shape(&numbers::values, 3);
#endif
}
