// expect: stoker: prepare takes normalize, crop, center_crop, horizontal_flip and channels
#include <cstdint>
#include <stoker/device/prepare.hpp>

struct image {
    stoker::tensor<std::uint8_t, 8, 8, 3> pixels;
    bool flipped;
};
struct other {
    bool flipped;
};
struct device_image {
    stoker::tensor<float, 3, 8, 8> pixels;
};
#ifdef CONTROL
constexpr stoker::horizontal_flip flip{&image::flipped};
#else
constexpr stoker::horizontal_flip flip{&other::flipped};
#endif
auto part = stoker::prepare(&image::pixels, &device_image::pixels, flip);
