// expect: stoker: a sample struct may not have a base class
#include <stoker/dataset/fields.hpp>

struct point {
    float x;
};
#ifdef CONTROL
struct named_point {
    point place;
    int name;
};
#else
struct named_point : point {
    int name;
};
#endif
constexpr auto count = stoker::detail::field_count<named_point>;
