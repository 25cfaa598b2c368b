// expect: stoker: the image's channels may be first or last
#include <cstdint>
#include <stoker/device/prepare.hpp>

struct image {
    stoker::tensor<std::uint8_t, 3, 3, 3> pixels;
};
struct device_image {
    stoker::tensor<float, 3, 3, 3> pixels;
};
#ifdef CONTROL
auto part = stoker::prepare(&image::pixels, &device_image::pixels, stoker::channels::last);
#else
auto part = stoker::prepare(&image::pixels, &device_image::pixels);
#endif
