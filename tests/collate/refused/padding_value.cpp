// expect: stoker: padded<T, value> needs a value that a T can be
#include <cstdint>
#include <stoker/dataset/padded.hpp>

#ifdef CONTROL
stoker::padded<std::int8_t, -1> bytes;
#else
stoker::padded<std::uint8_t, -1> bytes;
#endif
