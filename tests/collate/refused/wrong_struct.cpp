// expect: error
#include <stoker/collate/column_access.hpp>

struct point {
    float x;
};
struct other {
    float x;
};
stoker::detail::column_record record{};
std::byte bytes[16];
#ifdef CONTROL
auto view = stoker::detail::column_access<point>::member(bytes, &record, &point::x);
#else
auto view = stoker::detail::column_access<point>::member(bytes, &record, &other::x);
#endif
