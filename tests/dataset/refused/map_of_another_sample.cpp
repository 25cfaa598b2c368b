// expect: stoker: map(f) calls f(sample) or f(sample, context&)
#include <stoker/dataset/map.hpp>
#include <string>
#include <vector>

#ifdef CONTROL
double change(float sample) {
    return sample;
}
#else
double change(const std::string&) {
    return 0;
}
#endif
auto changed = std::vector<float>(3) | stoker::map(change);
