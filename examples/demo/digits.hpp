#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <stoker/tensor/tensor.hpp>

namespace demo {

/// One scanned digit as it lies in the file: ink from 0 to 16, and which digit it is.
struct digit {
    stoker::tensor<std::uint8_t, 8, 8> pixels;
    std::int64_t label;
};

/// Reads lines of 64 pixels and a label, comma separated, from a file that may be gzipped.
/// Throws stoker::error, which names file, line and column of the first thing that is wrong.
std::vector<digit> read_digits(const std::string& path);

/// The same from text in memory; `path` is what errors call it.
std::vector<digit> parse_digits(std::span<const char> text, const std::string& path);

/// Digits to train on, and a fifth of all that the model never sees while it trains.
struct split_digits {
    std::vector<digit> training;
    std::vector<digit> held_out;
};

/// Which ones are held out depends on the seed alone.
split_digits split(std::vector<digit> digits, std::uint64_t seed);

}  // namespace demo
