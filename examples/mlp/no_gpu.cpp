#include <stdexcept>

#include "mlp.hpp"

// In place of on_gpu.cu where there is no nvcc.

std::unique_ptr<mlp> make_mlp_on_gpu() {
    throw std::runtime_error("the kernels were left out: nvcc was not found");
}
