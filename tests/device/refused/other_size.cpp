// expect: stoker: the device's image has another size than the sample's
#include <cstdint>
#include <stoker/device/prepare.hpp>

struct image {
    stoker::tensor<std::uint8_t, 8, 8, 3> pixels;
};
struct device_image {
    stoker::tensor<float, 3, 6, 8> pixels;
};
#ifdef CONTROL
auto part = stoker::prepare(&image::pixels, &device_image::pixels, stoker::center_crop{});
#else
auto part = stoker::prepare(&image::pixels, &device_image::pixels);
#endif
