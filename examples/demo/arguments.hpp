#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace demo {

/// What the command line says.
struct arguments {
    std::string data = DEMO_DATA;  ///< where Meson found the digits
    std::uint64_t seed = 1;        ///< of split, order, augmentation and first weights
    int epochs = 30;
    int num_workers = 2;
    bool sweep = true;
};

extern const char* const usage;

/// Empty when help was asked for. Throws std::invalid_argument that names the argument.
std::optional<arguments> parse_arguments(int count, const char* const* values);

}  // namespace demo
