// expect: stoker: a stream has no indices, so a loader of it takes no replace_bad
#include <list>
#include <stoker/stoker.hpp>

std::list<float> numbers{1, 2, 3};
#ifdef CONTROL
stoker::loader loaded{numbers, {.batch_size = 2}, stoker::worker_init{[](stoker::worker_info) {}}};
#else
stoker::loader loaded{
    numbers, {.batch_size = 2}, stoker::replace_bad{[](stoker::bad_sample&) { return 3; }}};
#endif
