// expect: stoker: an image becomes a tensor of float, f16 or bf16
#include <cstdint>
#include <stoker/device/prepare.hpp>

struct image {
    stoker::tensor<std::uint8_t, 8, 8, 3> pixels;
};
#ifdef CONTROL
using element = stoker::bf16;
#else
using element = double;
#endif
struct device_image {
    stoker::tensor<element, 3, 8, 8> pixels;
};
constexpr stoker::normalize normal{{0.5f, 0.5f, 0.5f}, {0.2f, 0.2f, 0.2f}};
auto part = stoker::prepare(&image::pixels, &device_image::pixels, normal);
