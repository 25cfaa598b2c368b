// expect: for larger ones give the dataset read(index, row)
#include <cstdint>
#include <stoker/tensor/tensor.hpp>

#ifdef CONTROL
stoker::tensor<std::uint8_t, 1024, 1024> pixels;
#else
stoker::tensor<std::uint8_t, 1024, 1025> pixels;
#endif
