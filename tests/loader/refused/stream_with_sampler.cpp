// expect: stoker: a stream has no indices, so a loader of it takes no sampler and no batch_sampler
#include <list>
#include <stoker/stoker.hpp>

std::list<float> numbers{1, 2, 3};
#ifdef CONTROL
stoker::loader loaded{numbers, {.batch_size = 2}, stoker::worker_init{[](stoker::worker_info) {}}};
#else
stoker::loader loaded{numbers, {.batch_size = 2}, stoker::sampler{std::vector{2, 1, 0}}};
#endif
