// expect: stoker: prepare makes integers i32 or i64
#include <cstdint>
#include <stoker/device/prepare.hpp>

struct sample {
    float weight;
};
#ifdef CONTROL
struct device_sample {
    stoker::f16 weight;
};
#else
struct device_sample {
    std::int32_t weight;
};
#endif
auto part = stoker::prepare(&sample::weight, &device_sample::weight);
