#pragma once
// Real handwritten digits, 8×8 with 17 shades, as build/examples/digits.csv has them: 64 shades and
// a label a line.

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <stoker/tensor/tensor.hpp>

struct digit {
    stoker::tensor<std::uint8_t, 8, 8> pixels;
    std::int64_t label;
};

inline std::vector<digit> read_digits(const std::string& path) {
    std::ifstream file(path);
    std::vector<digit> digits;
    for (std::string line; std::getline(file, line);) {
        digit one{};
        std::istringstream numbers(line);
        std::string number;
        for (std::size_t i = 0; i < 64 && std::getline(numbers, number, ','); ++i)
            one.pixels.data()[i] = static_cast<std::uint8_t>(std::stoi(number));
        numbers >> one.label;
        digits.push_back(one);
    }
    if (digits.empty())
        throw std::runtime_error(path + ": no digits there (build/examples/digits.csv has some)");
    return digits;
}
