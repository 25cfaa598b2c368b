// expect: stoker: normalize needs a mean and a deviation for each channel
#include <cstdint>
#include <stoker/device/prepare.hpp>

struct image {
    stoker::tensor<std::uint8_t, 8, 8, 3> pixels;
};
struct device_image {
    stoker::tensor<float, 3, 8, 8> pixels;
};
#ifdef CONTROL
constexpr stoker::normalize normal{{0.5f, 0.5f, 0.5f}, {0.2f, 0.2f, 0.2f}};
#else
constexpr stoker::normalize normal{{0.5f}, {0.2f}};
#endif
auto part = stoker::prepare(&image::pixels, &device_image::pixels, normal);
