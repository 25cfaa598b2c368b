// expect: stoker: row<Sample> needs a sample whose extents are all known at compile time
#include <stoker/dataset/dataset.hpp>
#include <stoker/tensor/tensor.hpp>

struct sentence {
#ifdef CONTROL
    stoker::tensor<int, 8> tokens;
#else
    stoker::tensor<int, stoker::dynamic> tokens;
#endif
};
int first(stoker::row<sentence> row) {
    return row[&sentence::tokens](0);
}
