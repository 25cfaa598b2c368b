// expect: stoker: a column of a const batch is had as tensor_view<const T, …>
#include <stoker/collate/column_view.hpp>

#ifdef CONTROL
using element = const float;
#else
using element = float;
#endif
auto typed(stoker::column_view any) {
    return any.as<stoker::tensor_view<element, stoker::dynamic>>();
}
