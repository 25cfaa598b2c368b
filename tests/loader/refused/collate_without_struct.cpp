// expect: stoker: a collate's function names its batch struct
#include <span>
#include <stoker/collate/collate.hpp>

struct numbers {
    stoker::tensor<int, stoker::dynamic> values;
};
#ifdef CONTROL
stoker::collate part{[](std::span<const int>, stoker::writer<numbers>&) {}};
#else
stoker::collate part{[](auto, auto&) {}};
#endif
