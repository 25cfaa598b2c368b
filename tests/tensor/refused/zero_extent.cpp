// expect: stoker: the extents of a tensor are 1 or more
#include <stoker/tensor/tensor.hpp>

#ifdef CONTROL
stoker::tensor<float, 3, 1> numbers;
#else
stoker::tensor<float, 3, 0> numbers;
#endif
