// expect: stoker: replace_bad is called with a stoker::bad_sample& and returns the index of another
#include <stoker/stoker.hpp>
#include <vector>

std::vector<float> numbers();
#ifdef CONTROL
auto made =
    stoker::loader{numbers(), {}, stoker::replace_bad{[](stoker::bad_sample&) { return 3; }}};
#else
auto made = stoker::loader{numbers(), {}, stoker::replace_bad{[](int) { return 3; }}};
#endif
